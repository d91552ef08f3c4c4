import { describe, expect, it } from "vitest"
import type { Fault } from "../../src/testing/faulty-store.ts"
import { simulate, type SimulationReport, type SimulationSpec } from "./driver.ts"
import { noFaults } from "./faults.ts"
import { all, any, race, seq, sleep, step, wait, type OutsideAction, type Program, type SimulatedInstance } from "./program.ts"

/** Faults of the engine that the simulation once found, each in its smallest form. */

interface Smallest extends Partial<Omit<SimulationSpec, "scenario" | "faults">> {
  readonly actions?: readonly OutsideAction[]
  readonly delayMs?: number
  readonly next?: readonly Program[]
  readonly instances?: readonly SimulatedInstance[]
}

function run(program: Program, scripted: Readonly<Record<string, Fault>>, smallest: Smallest = {}): Promise<SimulationReport> {
  const { actions = [], delayMs, next, instances, ...rest } = smallest
  const only = { id: "i1", program, startAtMs: 0, ...(delayMs === undefined ? {} : { delayMs }), ...(next ? { next } : {}) }
  return simulate({
    scenario: { instances: instances ?? [only], actions },
    faults: { crashes: new Map(), rates: noFaults, scripted },
    seed: "found",
    workers: 1,
    downMs: 0,
    isEmbedded: true,
    ...rest,
  })
}

const lostAnswer: Fault = { kind: "error", when: "after" }
const lostCall: Fault = { kind: "error", when: "before" }
const slow: Fault = { kind: "delay", when: "before", ms: 400 }

describe("faults that were found", () => {
  it("an instance whose claim was not answered is claimed again", async () => {
    const { violations } = await run(step("a"), { "claim 2": lostAnswer }, { delayMs: 1_000 })
    expect(violations).toEqual([])
  })

  it("an instance whose start was not answered goes on", async () => {
    const { violations } = await run(step("a"), { "commit 1": lostAnswer })
    expect(violations).toEqual([])
  })

  it("a sleep is not cut short by a turn that takes long to be written", async () => {
    const { violations } = await run(all(step("a"), step("b", { latencyMs: 100 }), sleep("s", 300)), { "commit 2": slow })
    expect(violations).toEqual([])
  })

  it("a nested wait takes one event, also if it comes while its step is entered again", async () => {
    const actions: OutsideAction[] = [0, 1].map((index) => ({
      atMs: 1_000,
      instance: "i1",
      act: { kind: "event", event: { type: "red", payload: `red:${index}`, eventId: `red:${index}` } },
    }))
    const program = seq(step("a", { inner: wait("w", "red") }), wait("v", "red"))
    const { violations } = await run(program, { "deliver 1": { kind: "crash", when: "after" } }, { actions })
    expect(violations).toEqual([])
  })

  it("a nested wait is not begun anew when its step is entered again for a cancel", async () => {
    const actions: OutsideAction[] = [{ atMs: 1_000, instance: "i1", act: { kind: "cancel" } }]
    const { violations } = await run(step("a", { inner: wait("w", "red") }), { "deliver 1": { kind: "crash", when: "after" } }, { actions })
    expect(violations).toEqual([])
  })

  it("a result is told only when the end is durable, not with the turn before it", async () => {
    const program = all(step("a"), race(step("b", { latencyMs: 100 }), sleep("s", 600)))
    const { violations } = await run(program, { "commit 2": slow, "commit 3": { kind: "crash", when: "before" } }, { downMs: 3_000 })
    expect(violations).toEqual([])
  })

  it("a termination does not overwrite an end that came while it was looking", async () => {
    const actions: OutsideAction[] = [{ atMs: 100, instance: "i1", act: { kind: "terminate" } }]
    const { violations } = await run(step("a", { latencyMs: 200 }), { "readJournal 1": slow }, { actions })
    expect(violations).toEqual([])
  })

  it("an instance that is loaded again ends once, also if a nested step is asked for on the way", async () => {
    const slowly = { latencyMs: 5_000 }
    const program = race(sleep("s", 1_000), all(step("a", { inner: step("b", slowly) }), step("c", slowly)))
    const { violations } = await run(program, { "commit 3": lostCall, "commit 4": lostAnswer })
    expect(violations).toEqual([])
  })

  it("events that came while an instance was paused go before later ones also when it is cancelled", async () => {
    const event = (atMs: number, payload: string): OutsideAction => ({ atMs, instance: "i1", act: { kind: "event", event: { type: "red", payload } } })
    const act = (atMs: number, kind: "pause" | "cancel"): OutsideAction => ({ atMs, instance: "i1", act: { kind } })
    const actions = [act(100, "pause"), event(200, "red:0"), act(300, "cancel"), event(400, "red:1")]
    const { violations } = await run(sleep("s", 1_000), {}, { actions, cleanUpMs: 500 })
    expect(violations).toEqual([])
  })

  it("what a step leaves behind inside when it ends takes no events away", async () => {
    const actions: OutsideAction[] = [{ atMs: 500, instance: "i1", act: { kind: "event", event: { type: "red", payload: "red:0" } } }]
    const loser = step("c", { latencyMs: 100, inner: wait("w", "red") })
    const program = seq(step("a", { inner: any(step("b"), loser) }), sleep("s", 200), wait("v", "red"))
    const { violations } = await run(program, {}, { actions })
    expect(violations).toEqual([])
  })

  it("a nested step that a cancel found waiting for its retry is not begun anew", async () => {
    const actions: OutsideAction[] = [{ atMs: 100, instance: "i1", act: { kind: "cancel" } }]
    const program = step("a", { inner: step("b", { fails: 2, attemptsMax: 2 }) })
    const { violations } = await run(program, { "deliver 1": { kind: "crash", when: "after" } }, { actions })
    expect(violations).toEqual([])
  })

  it("an instance whose nested step waits to be begun again comes to rest when it is paused", async () => {
    const actions: OutsideAction[] = [
      { atMs: 1_500, instance: "i1", act: { kind: "event", event: { type: "red", payload: "red:0" } } },
      { atMs: 2_000, instance: "i1", act: { kind: "pause" } },
    ]
    const program = step("a", { latencyMs: 1_000, inner: step("b", { latencyMs: 5_000 }) })
    const { violations } = await run(program, { "deliver 1": { kind: "crash", when: "after" } }, { actions })
    expect(violations).toEqual([])
  })

  it("closing waits for a slow commit without going round in circles", async () => {
    const { violations } = await run(seq(step("a"), sleep("s", 500)), { "commit 2": slow }, { deploys: [{ atMs: 1, worker: 0 }] })
    expect(violations).toEqual([])
  })

  it("what steps of a run ask for on the way is not recorded in the run that follows it", async () => {
    const program = race(step("a"), step("b", { inner: step("c", { inner: step("d") }) }))
    const { violations } = await run(program, {}, { next: [wait("w", "red", { timeoutMs: 100, fallback: "nothing" })] })
    expect(violations).toEqual([])
  })

  it("an instance that its owner ends while another worker is about to take it over gets no entry behind its end", async () => {
    const unrenewed = Array.from({ length: 20 }, (_, index) => [`renew ${index + 3}`, { kind: "ignored" }] as const)
    const late = (ms: number): Fault => ({ kind: "delay", when: "before", ms })
    const scripted = { ...Object.fromEntries(unrenewed), "commit 2": late(6_000), "readJournal 1": late(5_000) }
    const { violations } = await run(step("a"), scripted, {
      workers: 2,
      isEmbedded: false,
      actions: [{ atMs: 15_000, instance: "i1", act: { kind: "query" } }],
    })
    expect(violations).toEqual([])
  })

  it("a pause that comes while a run is being continued is one of the next run, which rests", async () => {
    const actions: OutsideAction[] = [
      { atMs: 200, instance: "i1", act: { kind: "pause" } },
      { atMs: 5_000, instance: "i1", act: { kind: "resume" } },
    ]
    const { violations } = await run(sleep("s", 100), { "commit 2": slow }, { actions, next: [step("a")] })
    expect(violations).toEqual([])
  })

  it("an instance whose slot is given back goes on only with another, also if it is due before it hears of that", async () => {
    const program = step("a", { fails: 1, latencyMs: 1_000 })
    const flow = { limits: [{ limit: 1, isKeyed: false, hold: false }] }
    const instances = [
      { id: "i1", program, startAtMs: 0, flow },
      { id: "i2", program, startAtMs: 100, flow, twinOf: "i1" },
    ]
    const slowAnswer: Fault = { kind: "delay", when: "after", ms: 400 }
    const { violations, statistics } = await run(program, { "commit 4": slowAnswer }, { instances })
    expect(violations).toEqual([])
    expect(statistics.get("slots taken")).toBe(4)
  })
})
