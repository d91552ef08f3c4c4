import type { Turn } from "../../ports/journal-store.ts"

/** It appends to the journal and does nothing else: most turns between two steps are like that. */
export function appendsOnly({ create, state, consumed, discardInbox, tags, memo, sends }: Turn): boolean {
  return (create ?? state ?? tags ?? memo ?? sends ?? consumed?.[0]) === undefined && discardInbox !== true
}
