import { describe, expect, it } from "vitest"
import { Payload } from "../values/value-codec.ts"
import type { Entry, Kept, Recorded } from "./journal.ts"
import { keptBefore, lastRun, runOf } from "./run-history.ts"

const start = (run: number, kept?: readonly Kept[]): Entry => ({
  type: "run.started",
  run,
  workflow: "w",
  version: "1",
  value: Payload.undefined,
  ...(kept ? { kept } : undefined),
})
const asked = (id: string): Entry => ({ type: "step.started", id, attempt: 1 })
const done = (id: string): Entry => ({ type: "step.completed", id, value: Payload.undefined })

function journal(...entries: readonly Entry[]): Recorded[] {
  let run = 0
  return entries.map((entry, index) => {
    if (entry.type === "run.started") run = entry.run
    return { position: index + 1, run, at: 0, entry }
  })
}

const first = [start(1), asked("a"), done("a"), { type: "recovered", worker: "w" } as const, asked("b"), asked("c"), done("b"), asked("d")]

describe("the entries of a run", () => {
  it("are all from its start to the next", () => {
    const recorded = journal(...first, start(2), asked("a"))
    expect(runOf(recorded, 1).map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(lastRun(recorded).map(({ position }) => position)).toEqual([9, 10])
    expect(runOf(recorded, 3)).toEqual([])
  })

  it("that restarts from a step begin with what was recorded before that step", () => {
    const before = journal(...first)
    const kept = keptBefore(before, "d")
    expect(kept).toEqual([
      { from: 2, to: 3 },
      { from: 5, to: 7 },
    ])
    const recorded = journal(...first, start(2, kept), asked("d"), done("d"), asked("e"))
    expect(lastRun(recorded).map(({ position }) => position)).toEqual([9, 2, 3, 5, 6, 7, 10, 11, 12])
    const again = keptBefore(lastRun(recorded), "e")
    expect(again).toEqual([
      { from: 2, to: 3 },
      { from: 5, to: 7 },
      { from: 10, to: 11 },
    ])
  })

  it("keep nothing that came after a cancel, and no step means no answer", () => {
    const recorded = journal(start(1), asked("a"), { type: "cancel.requested", cause: "request" }, asked("clean-up"))
    expect(keptBefore(recorded, "clean-up")).toEqual([{ from: 2, to: 2 }])
    expect(keptBefore(recorded, "nowhere")).toBeUndefined()
  })
})
