import { expect, it } from "vitest"
import { Payload } from "../values/value-codec.ts"
import { matchesForHandlers, matchForEvent, matchForWait } from "./event-matching.ts"
import { InstanceState } from "./instance-state.ts"
import type { Entry } from "./journal.ts"

/** The state after these entries, at positions from 1 on. */
function stateOf(...entries: readonly Entry[]): InstanceState {
  const state = new InstanceState()
  for (const [index, entry] of entries.entries()) state.apply({ position: index + 1, run: 1, at: 0, entry })
  return state
}

const wait = (id: string, event: string): Entry => ({ type: "wait.started", id, event })
const received = (event: string): Entry => ({ type: "event.received", event, value: Payload.undefined })
const handlersFor = (...types: readonly string[]) => ({ handlesEvent: (type: string) => types.includes(type) })

it("an event completes the earliest open wait for its type", () => {
  const state = stateOf(wait("other", "b"), wait("first", "a"), wait("second", "a"), received("a"))
  expect(matchForEvent(state, "a", 4, undefined)).toEqual({ type: "wait.completed", id: "first", from: 4 })
})

it("a wait goes before a handler", () => {
  const state = stateOf(wait("w", "a"), received("a"))
  expect(matchForEvent(state, "a", 2, handlersFor("a"))).toEqual({ type: "wait.completed", id: "w", from: 2 })
  expect(matchForEvent(stateOf(received("a")), "a", 1, handlersFor("a"))).toEqual({ type: "event.handled", event: "a", from: 1 })
})

it("an event that no wait and no handler is for stays in the buffer", () => {
  const state = stateOf(wait("w", "b"), { type: "wait.started", id: "condition" }, received("a"))
  expect(matchForEvent(state, "a", 3, handlersFor("c"))).toBeUndefined()
  expect(matchForEvent(state, "a", 3, undefined)).toBeUndefined()
  expect(state.earliestBuffered("a")).toBe(3)
})

it("a wait receives the earliest buffered event of its type", () => {
  const state = stateOf(received("b"), received("a"), received("a"), wait("w", "a"))
  expect(matchForWait(state, "w", "a")).toEqual({ type: "wait.completed", id: "w", from: 2 })
  state.apply({ position: 5, run: 1, at: 0, entry: { type: "wait.completed", id: "w", from: 2 } })
  expect(matchForWait(state, "w2", "a")).toMatchObject({ from: 3 })
  expect(matchForWait(state, "w3", "c")).toBeUndefined()
})

it("new handlers take the buffered events of their types in the order received", () => {
  const state = stateOf(received("a"), received("b"), received("c"), received("a"))
  expect(matchesForHandlers(state, handlersFor("a", "c")).map(({ event, from }) => [event, from])).toEqual([
    ["a", 1],
    ["c", 3],
    ["a", 4],
  ])
})
