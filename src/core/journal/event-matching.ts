import type { InstanceState } from "./instance-state.ts"
import type { EntryOf } from "./journal.ts"

/**
 * Decides which wait or handler receives an event. For each event type the rules are:
 *
 *   - the earliest open wait receives the earliest buffered event;
 *   - a wait receives an event before a handler does;
 *   - an event without a wait or a handler stays in the buffer.
 *
 * "Earliest" means the lowest position in the journal. Waits inside steps follow the same rules. A match is a journal entry, which the caller records at
 * once. So there is never an open wait and a buffered event of one type at the same time.
 */
export type EventMatch = EntryOf<"wait.completed" | "event.handled">

/** The handlers that workflow code has registered. */
export interface EventHandlerLookup {
  handlesEvent(type: string): boolean
}

/** The match for an event that was just recorded at `position`. Undefined: the event stays in the buffer. */
export function matchForEvent(state: InstanceState, type: string, position: number, handlers: EventHandlerLookup | undefined): EventMatch | undefined {
  const wait = state.waits.find(({ event }) => event === type)
  if (wait) return { type: "wait.completed", id: wait.id, from: position }
  return handlers?.handlesEvent(type) === true ? { type: "event.handled", event: type, from: position } : undefined
}

/** The match for a wait that was just recorded. Undefined: the wait stays open. */
export function matchForWait(state: InstanceState, id: string, type: string): EntryOf<"wait.completed"> | undefined {
  const from = state.earliestBuffered(type)
  return from === undefined ? undefined : { type: "wait.completed", id, from }
}

/** The matches for handlers that the code has just registered: each receives the buffered events of its type. */
export function matchesForHandlers(state: InstanceState, handlers: EventHandlerLookup): readonly EntryOf<"event.handled">[] {
  return state
    .buffered()
    .filter(({ entry }) => handlers.handlesEvent(entry.event))
    .map(({ entry, position }) => ({ type: "event.handled", event: entry.event, from: position }))
}
