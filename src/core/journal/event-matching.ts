import type { InstanceState } from "./instance-state.ts"
import type { EntryOf } from "./journal.ts"

/**
 * Decides which event goes to which wait or handler. For each type the rule is:
 *
 *   - the earliest open wait receives the earliest buffered event;
 *   - a wait goes before a handler;
 *   - an event that nothing takes stays in the buffer.
 *
 * Both orders are orders in the journal. A match is an entry, which the caller records at once: so at no time is there an open wait and a buffered event
 * of the same type. Nested waits follow the same rule.
 */
export type EventMatch = EntryOf<"wait.completed" | "event.handled">

/** The handlers that workflow code has registered. */
export interface EventHandlerLookup {
  handlesEvent(type: string): boolean
}

/** An event was recorded at `position`. */
export function matchForEvent(state: InstanceState, type: string, position: number, handlers: EventHandlerLookup | undefined): EventMatch | undefined {
  const wait = state.waits.find(({ event }) => event === type)
  if (wait) return { type: "wait.completed", id: wait.id, from: position }
  return handlers?.handlesEvent(type) === true ? { type: "event.handled", event: type, from: position } : undefined
}

/** A wait for an event of that type was recorded. */
export function matchForWait(state: InstanceState, id: string, type: string): EntryOf<"wait.completed"> | undefined {
  const from = state.earliestBuffered(type)
  return from === undefined ? undefined : { type: "wait.completed", id, from }
}

/** The code has registered handlers: they take what is buffered for them. */
export function matchesForHandlers(state: InstanceState, handlers: EventHandlerLookup): readonly EntryOf<"event.handled">[] {
  return state
    .buffered()
    .filter(({ entry }) => handlers.handlesEvent(entry.event))
    .map(({ entry, position }) => ({ type: "event.handled", event: entry.event, from: position }))
}
