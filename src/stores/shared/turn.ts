import type { Turn } from "../../ports/journal-store.ts"

/** Whether the turn only appends entries to the journal. Most turns between two steps do only that, and stores write them by one statement. */
export function isAppendOnly({ create, state, consumed, discardInbox, tags, memo, sends, tasks, endsTasks }: Turn): boolean {
  return (create ?? state ?? tags ?? memo ?? sends ?? tasks ?? endsTasks ?? consumed?.[0]) === undefined && discardInbox !== true
}

/**
 * Turns with the same key follow each other, so a lost turn bars the ones after it. The key has the incarnation: a start of an id that exists
 * does not belong to the instance that has the id.
 */
export function turnSequenceKey({ instance, incarnation }: Turn): string {
  return `${instance}\n${incarnation}`
}
