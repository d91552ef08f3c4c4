// The scenario behind each golden journal: the calls on its instance, in virtual time.

import type { AnyWorkflow, PayloadCodec, StoreProvider } from "../../src/index.ts"
import { sqlite } from "../../src/sqlite.ts"
import { createTestEngine, type TestEngine } from "../../src/testing.ts"
import { activities, delegating, receiving, retryDecided, undoneFromStart, undoneUntilFailure } from "./more-workflows.ts"
import {
  annotating,
  attentive,
  blaming,
  cancelled,
  conditional,
  encoded,
  everyday,
  failed,
  forked,
  fostered,
  fostering,
  goldenCodec,
  interrupted,
  large,
  mistaken,
  nested,
  obedient,
  overdue,
  parallel,
  patched,
  perpetual,
  raising,
  scheduled,
  secretive,
  steered,
  transactional,
  undoable,
  unpatched,
} from "./workflows.ts"

export interface Scenario {
  readonly name: string
  /** The id of the instance; default: the name. */
  readonly instance?: string
  readonly workflow: AnyWorkflow
  /** Other workflows that the scenario needs. */
  readonly beside?: readonly AnyWorkflow[]
  readonly play: (engine: TestEngine) => Promise<void>
  /** Default: none. */
  readonly codec?: PayloadCodec
  /** Default: memory. */
  readonly store?: () => StoreProvider
}

const startAt = Date.UTC(2026, 0, 1)
const hooks = { onFailed: 0 }

export const scenarios: readonly Scenario[] = [
  {
    name: "everyday",
    workflow: everyday,
    play: async (engine) => {
      await engine.start(everyday, { id: "everyday", input: { since: new Date(startAt) }, tags: ["golden"] })
      await engine.sendEvent("everyday", "letter", { text: "early" }, { eventId: "letter-1" })
      await engine.skip("2s")
      await engine.sendEvent("everyday", "letter", { text: "early" }, { eventId: "letter-1" })
      await engine.skip("100s")
      await engine.sendEvent("everyday", "letter", { text: "in time" })
      await engine.skip("1h")
    },
  },
  {
    name: "parallel",
    workflow: parallel,
    play: async (engine) => {
      await engine.start(parallel, { id: "parallel" })
      await engine.skip("10s")
    },
  },
  {
    name: "nested",
    workflow: nested,
    play: async (engine) => {
      await engine.start(nested, { id: "nested" })
      await engine.skip("1s")
      await engine.crash()
      await engine.skip("1m")
      await engine.crash()
      await engine.sendEvent("nested", "letter", { text: "hello" })
    },
  },
  {
    name: "cancelled",
    workflow: cancelled,
    play: async (engine) => {
      const handle = await engine.start(cancelled, { id: "cancelled" })
      await engine.skip("5s")
      await handle.cancel("no longer wanted")
      await engine.settle()
    },
  },
  {
    name: "failed",
    workflow: failed,
    play: async (engine) => {
      await engine.start(failed, { id: "failed" })
      await engine.skip("1m")
    },
  },
  {
    name: "overdue",
    workflow: overdue,
    play: async (engine) => {
      await engine.start(overdue, { id: "overdue", delay: "10m" })
      await engine.skip("2h")
    },
  },
  {
    name: "paused",
    workflow: steered,
    play: async (engine) => {
      const handle = await engine.start(steered, { id: "paused", input: 1 })
      await engine.settle()
      await handle.pause("the bank is closed")
      await engine.settle()
      await engine.sendEvent("paused", "letter", { text: "kept" })
      await handle.resume()
      await engine.settle()
    },
  },
  {
    name: "still-waiting",
    workflow: steered,
    play: async (engine) => {
      await engine.start(steered, { id: "still-waiting", input: 1 })
      await engine.settle()
      await engine.crash()
    },
  },
  {
    name: "stalled-resumed",
    workflow: steered,
    play: async (engine) => {
      const handle = await engine.start(steered, { id: "stalled-resumed", input: 1 })
      await engine.settle()
      await engine.crash({ workflows: [mistaken] })
      await engine.sendEvent("stalled-resumed", "letter", { text: "meanwhile" })
      await engine.skip("10s")
      await engine.crash({ workflows: [steered] })
      await handle.resume()
      await engine.settle()
    },
  },
  {
    name: "terminated",
    workflow: steered,
    play: async (engine) => {
      const handle = await engine.start(steered, { id: "terminated", input: 1 })
      await engine.settle()
      await handle.terminate("enough")
    },
  },
  {
    name: "restarted-from-step",
    workflow: steered,
    play: async (engine) => {
      const handle = await engine.start(steered, { id: "restarted-from-step", input: 20 })
      await engine.settle()
      await engine.sendEvent("restarted-from-step", "letter", { text: "first" })
      await handle.restart({ from: "two" })
      await engine.settle()
      await handle.restart({ from: "letter" })
      await engine.settle()
      await engine.sendEvent("restarted-from-step", "letter", { text: "third" })
    },
  },
  {
    name: "interrupted",
    workflow: interrupted,
    play: async (engine) => {
      await engine.start(interrupted, { id: "interrupted" })
      await engine.settle()
      await engine.crash()
    },
  },
  {
    name: "scheduled",
    instance: "nightly:2026-01-01T02:00:00Z",
    workflow: scheduled,
    play: async (engine) => {
      await engine.schedules.create("nightly", { workflow: scheduled, input: { region: "north" }, cron: "0 2 * * *", timeout: "1h" })
      await engine.skip("3h")
      await engine.get("nightly:2026-01-01T02:00:00Z").restart()
      await engine.settle()
    },
  },
  {
    name: "large",
    workflow: large,
    play: async (engine) => {
      await engine.start(large, { id: "large", input: { times: 17_000 } })
      await engine.settle()
    },
  },
  {
    name: "rolled-back",
    workflow: undoable,
    play: async (engine) => {
      await engine.start(undoable, { id: "rolled-back", input: "fail" })
      await engine.skip("10s")
    },
  },
  {
    name: "rolled-back-on-cancel",
    workflow: undoable,
    play: async (engine) => {
      const handle = await engine.start(undoable, { id: "rolled-back-on-cancel", input: "wait" })
      await engine.settle()
      await handle.cancel("no longer wanted")
      await engine.settle()
      await engine.crash()
      await engine.skip("10s")
    },
  },
  {
    name: "rolled-back-on-terminate",
    workflow: undoable,
    play: async (engine) => {
      const handle = await engine.start(undoable, { id: "rolled-back-on-terminate", input: "wait" })
      await engine.settle()
      await handle.terminate({ reason: "enough", rollback: true })
      await engine.settle()
      await engine.crash()
      await engine.skip("10s")
    },
  },
  {
    name: "being-rolled-back",
    workflow: undoable,
    play: async (engine) => {
      await engine.start(undoable, { id: "being-rolled-back", input: "fail" })
      await engine.settle()
    },
  },
  {
    name: "patched",
    workflow: patched,
    play: async (engine) => {
      await engine.start(patched, { id: "patched" })
      await engine.sendEvent("patched", "letter", { text: "go on" })
    },
  },
  {
    name: "patched-on-the-way",
    workflow: patched,
    play: async (engine) => {
      await engine.crash({ workflows: [unpatched] })
      await engine.start(unpatched, { id: "patched-on-the-way" })
      await engine.settle()
      await engine.crash({ workflows: [patched] })
      await engine.sendEvent("patched-on-the-way", "letter", { text: "go on" })
    },
  },
  {
    name: "continued",
    workflow: perpetual,
    play: async (engine) => {
      await engine.start(perpetual, { id: "continued", input: { texts: [] }, timeout: "1h" })
      await engine.sendEvent("continued", "letter", { text: "a" })
      await engine.skip("1s")
      await engine.sendEvent("continued", "letter", { text: "b" }, { eventId: "letter-b" })
      await engine.sendEvent("continued", "letter", { text: "c" })
      for (let i = 0; i < 3; i++) {
        await engine.skip("1m")
        await engine.sendEvent("continued", "go")
      }
    },
  },
  {
    name: "forked",
    workflow: forked,
    play: async (engine) => {
      const handle = await engine.start(forked, { id: "original", input: 1 })
      await engine.sendEvent("original", "letter", { text: "hello" })
      await engine.skip("2h")
      await handle.fork({ id: "forked", from: "last", input: 2 })
      await engine.settle()
    },
  },
  {
    name: "restarted-with-its-time",
    workflow: forked,
    play: async (engine) => {
      const handle = await engine.start(forked, { id: "restarted-with-its-time", input: 1 })
      await engine.sendEvent("restarted-with-its-time", "letter", { text: "hello" })
      await engine.skip("2h")
      await handle.restart({ from: "last" })
      await engine.settle()
    },
  },
  {
    name: "raising",
    workflow: raising,
    beside: [obedient],
    play: async (engine) => {
      await engine.start(raising, { id: "raising" })
      await engine.skip("1s")
      await engine.crash()
      await engine.skip("1h")
    },
  },
  {
    name: "blaming",
    workflow: blaming,
    beside: [obedient],
    play: async (engine) => {
      await engine.start(blaming, { id: "blaming" })
      await engine.settle()
      await engine.get("stopped").cancel("no longer wanted")
      await engine.settle()
    },
  },
  {
    name: "raising-still",
    workflow: raising,
    beside: [obedient],
    play: async (engine) => {
      await engine.start(raising, { id: "raising-still" })
      await engine.skip("1s")
    },
  },
  {
    name: "attentive",
    workflow: attentive,
    play: async (engine) => {
      const handle = await engine.start(attentive, { id: "attentive" })
      const write = (...args: unknown[]) => handle.update("write", ...args).catch(() => undefined)
      await engine.sendEvent("attentive", "letter", { text: "early" }, { eventId: "letter-1" })
      await engine.skip("1s")
      await engine.sendEvent("attentive", "letter", { text: "in time" })
      const answers = [write("a line", new Date(startAt)), write(""), write("nonsense")]
      await engine.settle()
      await engine.skip("1m")
      await Promise.all(answers)
      void write("unfinished", new Date(startAt))
      await engine.settle()
      await engine.crash()
      await engine.sendEvent("attentive", "stop")
    },
  },
  {
    name: "attentive-still",
    workflow: attentive,
    play: async (engine) => {
      const handle = await engine.start(attentive, { id: "attentive-still" })
      await engine.skip("1s")
      void handle.update("write", "unfinished", new Date(startAt)).catch(() => undefined)
      await engine.sendEvent("attentive-still", "letter", { text: "kept" })
    },
  },
  {
    name: "continued-with-event-ids",
    workflow: perpetual,
    play: async (engine) => {
      const id = "continued-with-event-ids"
      await engine.start(perpetual, { id, input: { texts: [] } })
      const write = (text: string) => engine.sendEvent(id, "letter", { text }, { eventId: `letter-${text}` })
      for (const text of ["a", "b", "c"]) {
        await write(text)
        await write("a")
        await engine.sendEvent(id, "go")
      }
    },
  },
  {
    name: "conditional",
    workflow: conditional,
    play: async (engine) => {
      await engine.start(conditional, { id: "conditional" })
      await engine.sendEvent("conditional", "letter", { text: "one" })
      await engine.crash()
      await engine.sendEvent("conditional", "letter", { text: "two" })
      await engine.skip("1m")
      await engine.sendEvent("conditional", "letter", { text: "last" })
    },
  },
  {
    name: "fostered",
    workflow: fostered,
    beside: [fostering],
    play: async (engine) => {
      await engine.start(fostering, { id: "guardian", input: "fostered" })
      await engine.settle()
    },
  },
  {
    name: "transactional",
    workflow: transactional,
    store: () => sqlite(":memory:"),
    play: async (engine) => {
      await engine.start(transactional, { id: "transactional" })
      await engine.skip("1h")
    },
  },
  {
    name: "annotating",
    workflow: annotating,
    play: async (engine) => {
      await engine.start(annotating, { id: "annotating", input: 1, tags: ["golden", "new"] })
      await engine.settle()
      await engine.sendEvent("annotating", "letter", { text: "first" })
      await engine.crash()
      await engine.sendEvent("annotating", "letter", { text: "second" })
    },
  },
  {
    name: "secretive",
    workflow: secretive,
    play: async (engine) => {
      await engine.start(secretive, { id: "secretive", input: "hush" })
      await engine.settle()
      await engine.sendEvent("secretive", "letter", { text: "hush, too" })
    },
  },
  {
    name: "encoded",
    workflow: encoded,
    codec: goldenCodec,
    play: async (engine) => {
      await engine.start(encoded, { id: "encoded", input: 1 })
      await engine.settle()
      await engine.sendEvent("encoded", "letter", { text: "sealed" })
    },
  },
  {
    name: "rolled-back-from-start",
    workflow: undoneFromStart,
    play: async (engine) => {
      await engine.start(undoneFromStart, { id: "rolled-back-from-start" })
      await engine.skip("10s")
    },
  },
  {
    name: "being-rolled-back-from-start",
    workflow: undoneFromStart,
    play: async (engine) => {
      await engine.start(undoneFromStart, { id: "being-rolled-back-from-start" })
      // "ship" has failed, and the rollback of "charge" waits for its second attempt.
      await engine.skip("3s")
    },
  },
  {
    name: "rolled-back-until-failure",
    workflow: undoneUntilFailure,
    play: async (engine) => {
      await engine.start(undoneUntilFailure, { id: "rolled-back-until-failure" })
      await engine.settle()
    },
  },
  {
    name: "receiving",
    workflow: receiving,
    play: async (engine) => {
      await engine.start(receiving, { id: "receiving" })
      await engine.sendEvent("receiving", "letter", { text: "with an id" }, { eventId: "letter-1" })
      await engine.skip("1m")
      await engine.sendEvent("receiving", "letter", { text: "without" })
      await engine.skip("2h")
    },
  },
  {
    name: "retry-decided",
    workflow: retryDecided,
    play: async (engine) => {
      await engine.start(retryDecided, { id: "retry-decided" })
      await engine.skip("5s")
      await engine.crash()
      await engine.skip("1m")
    },
  },
  {
    name: "delegated",
    workflow: delegating,
    play: async (engine) => {
      await engine.start(delegating, { id: "delegated" })
      await engine.skip("2m")
    },
  },
  {
    name: "being-delegated",
    workflow: delegating,
    play: async (engine) => {
      await engine.start(delegating, { id: "being-delegated" })
      await engine.skip("10s")
    },
  },
]

/** Plays a scenario on an engine of its own, and returns this engine. */
export async function playScenario({ name, workflow, beside = [], play, store, codec }: Scenario): Promise<TestEngine> {
  hooks.onFailed = 0
  const engine = await createTestEngine({
    workflows: [workflow, ...beside],
    activities,
    startAt,
    seed: `golden ${name}`,
    ...(store === undefined ? undefined : { store: store() }),
    ...(codec === undefined ? undefined : { codec }),
    onFailed: () => {
      if (++hooks.onFailed === 1) throw new Error("nobody picks up the phone")
    },
  })
  await play(engine)
  return engine
}
