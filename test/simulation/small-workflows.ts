/** Small workflows, each about one thing, with the one way in which they end whatever crashes on the way. */
import {
  all,
  allSettled,
  any,
  attempt,
  race,
  seq,
  sleep,
  step,
  wait,
  type OutsideAction,
  type Program,
  type SentEvent,
  type SimulatedInstance,
} from "./program.ts"

export interface SmallWorkflow {
  readonly name: string
  readonly program: Program
  readonly actions?: readonly OutsideAction[]
  readonly start?: Partial<SimulatedInstance>
  readonly ending: { readonly status: string; readonly result?: unknown; readonly error?: string }
  /** Small enough for every pair of crashes. */
  readonly isSmallest?: true
}

const sent = (type: string, number: number): SentEvent => ({ type, payload: `${type}:${number}`, eventId: `${type}:${number}` })
const send = (atMs: number, event: SentEvent): OutsideAction => ({ atMs, instance: "i1", act: { kind: "event", event } })
const act = (atMs: number, kind: "pause" | "resume" | "cancel" | "terminate" | "restart"): OutsideAction => ({ atMs, instance: "i1", act: { kind } })
const completed = (result: unknown) => ({ status: "completed", result })

export const smallWorkflows: readonly SmallWorkflow[] = [
  { name: "one step", program: step("a"), ending: completed("a"), isSmallest: true },
  { name: "three steps", program: seq(step("a"), step("b", { latencyMs: 100 }), step("c")), ending: completed(["a", "b", "c"]), isSmallest: true },
  { name: "a step that fails twice", program: step("a", { fails: 2 }), ending: completed("a"), isSmallest: true },
  {
    name: "a step that fails for good and is caught",
    program: attempt(step("a", { fails: 2, attemptsMax: 2 }), step("b")),
    ending: completed({ caught: "failed:boom a", handled: "b" }),
    isSmallest: true,
  },
  {
    name: "a step that fails for good",
    program: seq(step("a", { fails: 1, attemptsMax: 1 }), step("b")),
    ending: { status: "failed", error: "failed:boom a" },
  },
  { name: "a sleep between steps", program: seq(step("a"), sleep("s", 1_000), step("b")), ending: completed(["a", "s", "b"]), isSmallest: true },
  { name: "a sleep that is long enough to leave memory", program: seq(sleep("s", 25_000), step("a")), ending: completed(["s", "a"]), isSmallest: true },
  {
    name: "a wait whose event comes later",
    program: seq(wait("w", "red"), step("a")),
    actions: [send(500, sent("red", 0))],
    ending: completed(["red:0", "a"]),
    isSmallest: true,
  },
  {
    name: "a wait whose event came before",
    program: seq(sleep("s", 1_000), wait("w", "red")),
    actions: [send(100, sent("red", 0))],
    ending: completed(["s", "red:0"]),
  },
  {
    name: "a wait that times out with a default",
    program: seq(wait("w", "red", { timeoutMs: 500, fallback: "nothing" }), step("a")),
    ending: completed(["nothing", "a"]),
  },
  {
    name: "a wait that times out and is caught",
    program: attempt(wait("w", "red", { timeoutMs: 500 }), step("a")),
    ending: completed({ caught: "timeout:w", handled: "a" }),
  },
  {
    name: "steps in parallel",
    program: all(step("a"), step("b", { latencyMs: 100 }), seq(step("c"), step("d", { fails: 1 }))),
    ending: completed(["a", "b", ["c", "d"]]),
  },
  {
    name: "steps in parallel of which one fails",
    program: allSettled(step("a", { latencyMs: 50 }), step("b", { fails: 1, attemptsMax: 1 }), sleep("s", 300)),
    ending: completed([{ ok: "a" }, { error: "failed:boom b" }, { ok: "s" }]),
  },
  { name: "a race of sleeps", program: seq(race(sleep("s", 900), sleep("t", 300)), step("a")), ending: completed([[1, "t"], "a"]) },
  {
    name: "any of two steps of which one fails",
    program: any(step("a", { fails: 1, attemptsMax: 1 }), step("b", { latencyMs: 200 })),
    ending: completed([1, "b"]),
  },
  {
    name: "the same name again and again, in parallel",
    program: all(step("a", { name: "same", latencyMs: 50 }), seq(step("b", { name: "same" }), step("c", { name: "same" }))),
    ending: completed(["a", ["b", "c"]]),
  },
  {
    name: "nested steps with a sleep",
    program: seq(step("a", { inner: seq(step("b"), sleep("s", 400), step("c")) }), step("d")),
    ending: completed([["a", ["b", "s", "c"]], "d"]),
  },
  {
    name: "a nested wait, and a nested step that fails once",
    program: step("a", { inner: all(wait("w", "red"), step("b", { fails: 1 })) }),
    actions: [send(700, sent("red", 0))],
    ending: completed(["a", ["red:0", "b"]]),
  },
  {
    name: "two waits, and the first event sent twice",
    program: seq(wait("w", "red"), step("a"), wait("v", "red")),
    actions: [send(100, sent("red", 0)), send(200, sent("red", 0)), send(300, sent("red", 1))],
    ending: completed(["red:0", "a", "red:1"]),
  },
  {
    name: "a pause over a sleep and an event",
    program: seq(sleep("s", 500), wait("w", "red"), step("a")),
    actions: [act(100, "pause"), send(200, sent("red", 0)), act(2_000, "resume")],
    ending: completed(["s", "red:0", "a"]),
  },
  { name: "a cancel with a clean-up", program: seq(step("a"), sleep("s", 60_000)), actions: [act(500, "cancel")], ending: { status: "cancelled" } },
  {
    name: "a cancel that is caught",
    program: attempt(all(sleep("s", 60_000), step("a", { inner: wait("w", "red") })), step("b")),
    actions: [act(500, "cancel")],
    ending: { status: "cancelled" },
  },
  { name: "a termination", program: seq(step("a"), sleep("s", 60_000)), actions: [act(500, "terminate")], ending: { status: "terminated" } },
  {
    name: "a restart",
    program: seq(step("a"), wait("w", "red")),
    actions: [send(100, sent("green", 0)), act(300, "restart"), send(1_500, sent("red", 1))],
    ending: completed(["a", "red:1"]),
  },
  {
    name: "a restart after the end",
    program: step("a"),
    actions: [act(1_000, "restart")],
    ending: completed("a"),
  },
  { name: "a start by an event", program: seq(wait("w", "red"), step("a")), start: { with: sent("red", 0) }, ending: completed(["red:0", "a"]) },
  { name: "a delayed start", program: seq(step("a"), step("b")), start: { delayMs: 5_000 }, ending: completed(["a", "b"]) },
]
