import { type ErrorCode, PerdureError } from "../errors.ts"

/** Of the store, and over as soon as it answers again. */
export const passingTroubles: readonly ErrorCode[] = ["DATABASE_BUSY", "SHARD_FAILED", "STORE_UNREACHABLE"]

/** Of the store, and no fault of whoever asked it: the next moment, or a person, may mend it. */
export const storeTroubles: readonly ErrorCode[] = [
  ...passingTroubles,
  "DATABASE_CORRUPT",
  "DATABASE_GONE",
  "DATABASE_UNREADABLE",
  "DISK_FULL",
  "READ_ONLY",
  "STORE_FAILED",
]

export function isStoreTrouble(error: unknown): boolean {
  return PerdureError.is(error) && storeTroubles.includes(error.code)
}
