/** Small workflows, each about one feature. Each has one outcome, whatever crashes happen. */
import {
  all,
  allSettled,
  any,
  attempt,
  child,
  cut,
  patch,
  race,
  seq,
  sleep,
  step,
  wait,
  type Act,
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
  /** The workflow is small enough for every pair of crashes. */
  readonly isSmallest?: true
}

const sent = (type: string, number: number): SentEvent => ({ type, payload: `${type}:${number}`, eventId: `${type}:${number}` })
const send = (atMs: number, event: SentEvent): OutsideAction => ({ atMs, instance: "i1", act: { kind: "event", event } })
const act = (atMs: number, kind: "pause" | "resume" | "cancel" | "terminate" | "restart" | "undo"): OutsideAction => ({ atMs, instance: "i1", act: { kind } })
const doing = (atMs: number, what: Act): OutsideAction => ({ atMs, instance: "i1", act: what })
/** A step with a rollback. */
const undoable = (label: string, undo: Parameters<typeof step>[1] = {}, options: Parameters<typeof step>[1] = {}) =>
  step(label, { ...options, undo: step(`undo ${label}`, undo) })
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
  { name: "a child whose result is awaited", program: seq(child("c", step("a")), step("b")), ending: completed([{ child: "a" }, "b"]), isSmallest: true },
  {
    name: "a child that fails, and is caught",
    program: attempt(child("c", step("a", { fails: 1, attemptsMax: 1 })), step("b")),
    ending: completed({ caught: "child:failed:boom a", handled: "b" }),
  },
  {
    name: "a child that waits for what its parent sends",
    program: child("c", wait("w", "red"), { event: { type: "red", payload: "from above" } }),
    ending: completed({ child: "from above" }),
  },
  {
    name: "a child that is cancelled by its parent",
    program: child("c", sleep("s", 60_000), { fate: "cancel" }),
    ending: completed({ cancelled: { error: "child cancelled" } }),
  },
  {
    name: "a child that is left alone, and cancelled when its parent is over",
    program: seq(child("c", sleep("s", 60_000), { fate: "leave" }), step("a")),
    ending: completed(["c", "a"]),
  },
  {
    name: "a child that goes when its parent is cancelled",
    program: seq(child("c", sleep("s", 60_000), { onParentEnd: "terminate" }), step("a")),
    actions: [act(500, "cancel")],
    ending: { status: "cancelled" },
  },
  {
    name: "a child that outlives its parent",
    program: seq(child("c", seq(sleep("s", 2_000), step("a")), { fate: "leave", onParentEnd: "abandon" }), step("b")),
    ending: completed(["c", "b"]),
  },
  {
    name: "a failure that undoes two steps, one of them at the second try",
    program: seq(undoable("a"), undoable("b", { fails: 1 }), step("c", { fails: 1, attemptsMax: 1 })),
    ending: { status: "failed", error: "failed:boom c" },
  },
  {
    name: "a failure with a step that cannot be undone",
    program: seq(undoable("a"), undoable("b", { fails: 2, attemptsMax: 2 }), step("c", { fails: 1, attemptsMax: 1 })),
    ending: { status: "failed", error: "failed:boom c" },
  },
  {
    name: "a failure that undoes all steps that have started, also those that failed, in the order of their starts",
    program: seq(
      all(undoable("a", {}, { latencyMs: 200 }), undoable("b", { fails: 1 })),
      attempt(undoable("c", {}, { fails: 2, attemptsMax: 2 }), step("d")),
      undoable("e", {}, { fails: 1, attemptsMax: 1 }),
    ),
    start: { rollbackPolicy: { of: "started" } },
    ending: { status: "failed", error: "failed:boom e" },
  },
  {
    name: "a failure that undoes a step that waits for its next attempt",
    program: all(undoable("a"), undoable("b", {}, { fails: 3, attemptsMax: 3 }), step("c", { latencyMs: 100, fails: 1, attemptsMax: 1 })),
    start: { rollbackPolicy: { of: "started" } },
    ending: { status: "failed", error: "failed:boom c" },
  },
  {
    name: "a failure whose rollbacks stop at the first that fails",
    program: seq(undoable("a"), undoable("b", { fails: 2, attemptsMax: 2 }), undoable("c"), step("d", { fails: 1, attemptsMax: 1 })),
    start: { rollbackPolicy: { onFailure: "stop" } },
    ending: { status: "failed", error: "failed:boom d" },
  },
  {
    name: "a failure of a started step whose own rollback fails and is the last",
    program: seq(undoable("a"), undoable("b", { fails: 1, attemptsMax: 1 }, { fails: 1, attemptsMax: 1 })),
    start: { rollbackPolicy: { of: "started", onFailure: "stop" } },
    ending: { status: "failed", error: "failed:boom b" },
    isSmallest: true,
  },
  {
    name: "a cancel that undoes a failed step and a completed one",
    program: seq(undoable("a"), attempt(undoable("b", {}, { fails: 1, attemptsMax: 1 }), sleep("s", 60_000))),
    start: { rollbackPolicy: { of: "started", onFailure: "stop" } },
    actions: [act(500, "cancel")],
    ending: { status: "cancelled" },
  },
  {
    name: "a terminate that undoes a step that is running",
    program: seq(undoable("a"), undoable("b", {}, { latencyMs: 60_000 })),
    start: { rollbackPolicy: { of: "started", onFailure: "stop" } },
    actions: [act(500, "undo")],
    ending: { status: "terminated" },
  },
  { name: "a cancel that undoes a step", program: seq(undoable("a"), sleep("s", 60_000)), actions: [act(500, "cancel")], ending: { status: "cancelled" } },
  {
    name: "a terminate that undoes a step",
    program: seq(undoable("a", { latencyMs: 300 }), sleep("s", 60_000)),
    actions: [act(500, "undo")],
    ending: { status: "terminated" },
  },
  {
    name: "a step that hangs at its first attempt",
    program: seq(step("a", { timeoutMs: 500, hangs: 1 }), step("b")),
    ending: completed(["a", "b"]),
  },
  {
    name: "a step that always hangs, and is caught",
    program: attempt(step("a", { timeoutMs: 500, hangs: 2, attemptsMax: 2 }), step("b")),
    ending: completed({ caught: "failed:timeout a", handled: "b" }),
  },
  {
    name: "a sleep that is given up",
    program: seq(cut(sleep("s", 60_000), step("a", { latencyMs: 200 })), step("b")),
    ending: completed([["a", { error: "cut" }], "b"]),
    isSmallest: true,
  },
  {
    name: "a wait that is given up takes no event",
    program: seq(cut(wait("w", "red"), step("a", { latencyMs: 200 })), wait("v", "red")),
    actions: [send(20_000, sent("red", 0))],
    ending: completed([["a", { error: "cut" }], "red:0"]),
  },
  {
    name: "runs that continue as new, with an event that waits for the last of them",
    program: seq(step("a"), sleep("s", 500)),
    start: { next: [step("b"), wait("w", "red")] },
    actions: [send(100, sent("red", 0))],
    ending: completed("red:0"),
  },
  {
    name: "an event that is handled, and one that is refused as a duplicate",
    program: seq(sleep("s", 1_000), step("a")),
    actions: [send(100, sent("blue", 0)), send(200, sent("blue", 0))],
    ending: completed(["s", "a"]),
  },
  {
    name: "an update, a query and an update that is refused",
    program: seq(sleep("s", 3_000), step("a")),
    actions: [doing(100, { kind: "update", arg: "u" }), doing(1_000, { kind: "query" }), doing(1_100, { kind: "update", arg: "bad" })],
    ending: completed(["s", "a"]),
  },
  {
    name: "a restart from a step",
    program: seq(step("a"), step("b"), wait("w", "red")),
    actions: [doing(500, { kind: "restartFrom", step: "b" }), send(2_500, sent("red", 0))],
    ending: completed(["a", "b", "red:0"]),
  },
  { name: "a patch", program: seq(step("a"), patch("p", step("b"), step("c"))), ending: completed(["a", { patched: true, value: "b" }]) },
]
