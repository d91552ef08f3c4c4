import { type ErrorCode, PerdureError } from "../errors.ts"

/** Errors of the store that end as soon as the store answers again. */
export const passingTroubles: readonly ErrorCode[] = ["DATABASE_BUSY", "SHARD_FAILED", "STORE_UNREACHABLE"]

/** Errors of the store that the caller has not caused. Time, or a person, may repair the store. */
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
