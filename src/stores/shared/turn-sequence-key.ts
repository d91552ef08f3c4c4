import type { Turn } from "../../ports/journal-store.ts"

/** Whose turns build on each other: those of one incarnation. A start of an id that exists is not of the instance that has it. */
export function lineOf({ instance, incarnation }: Turn): string {
  return `${instance}\n${incarnation}`
}
