// Plants each error that the checker must find.

import { describe, expect, it } from "vitest"
import type { HistoryEntry } from "../../../../src/index.ts"
import { type ChaosEvidence, check } from "./chaos-checker.ts"

const entry = (position: number, type: HistoryEntry["type"], data: Record<string, unknown> = {}): HistoryEntry => ({ position, run: 1, at: 0, type, data })

const sound = (): HistoryEntry[] => [
  entry(1, "run.started"),
  entry(2, "step.started", { id: "a", attempt: 1 }),
  entry(3, "step.started", { id: "a", attempt: 2 }),
  entry(4, "step.completed", { id: "a", value: "n1" }),
  entry(5, "event.received", { event: "word", value: "hello" }),
  entry(6, "run.completed", { value: ["n1", "hello"] }),
]

const evidence = (changes: Partial<ChaosEvidence> = {}): ChaosEvidence => ({
  acknowledged: ["i"],
  sent: new Map([["i", "hello"]]),
  histories: new Map([["i", sound()]]),
  spans: [
    { id: "i", position: 1, count: 2 },
    { id: "i", position: 3, count: 4 },
  ],
  effects: [{ key: "k", instance: "i", step: "a", nonce: "n1", times: 2 }],
  peak: 3,
  limit: 3,
  ...changes,
})

/** The same instance with another history, whose rows agree with it. */
const withHistory = (history: HistoryEntry[]) => evidence({ histories: new Map([["i", history]]), spans: [{ id: "i", position: 1, count: history.length }] })
const renumbered = (history: readonly HistoryEntry[]) => history.map((one, index) => ({ ...one, position: index + 1 }))

describe("the checker", () => {
  it("has nothing to say of what is sound", () => {
    expect(check(evidence())).toEqual([])
  })

  it.each<[string, ChaosEvidence, string]>([
    ["a start that was lost", evidence({ acknowledged: ["i", "j"] }), "j: its start was acknowledged, and it is not there"],
    ["an instance that has not ended", withHistory(sound().slice(0, 5)), "i: it did not complete, but has not ended"],
    ["an instance that failed", withHistory([...sound().slice(0, 5), entry(6, "run.failed")]), "i: it did not complete, but run.failed"],
    [
      "a second result of a step",
      withHistory(renumbered([...sound().slice(0, 4), entry(5, "step.completed", { id: "a", value: "n1" }), ...sound().slice(4)])),
      "i: a has a second result at 5",
    ],
    ["an attempt that is recorded twice", withHistory(renumbered([...sound().slice(0, 3), ...sound().slice(2)])), "i: attempt a 2 is recorded twice"],
    ["something after the end", withHistory([...sound(), entry(7, "recovered")]), "i: recovered at 7 follows the end"],
    ["a gap in a history", withHistory([...sound().slice(0, 2), ...sound().slice(3)]), "i: position 4 stands at place 3"],
    [
      "a gap between rows",
      evidence({
        spans: [
          { id: "i", position: 1, count: 2 },
          { id: "i", position: 4, count: 3 },
        ],
      }),
      "i: a row begins at 4 where 3 comes next",
    ],
    ["a result that is not what was recorded", withHistory([...sound().slice(0, 5), entry(6, "run.completed", { value: ["n2", "hello"] })]), "its result is"],
    ["an event that was lost", evidence({ sent: new Map([["i", "other"]]) }), "i: an acknowledged event was received 1 times"],
    [
      "a result of an attempt that was not the one with the effect",
      evidence({ effects: [{ key: "k", instance: "i", step: "a", nonce: "n0", times: 1 }] }),
      "i a: its result is of n1, its effect of n0",
    ],
    ["a result without an effect", evidence({ effects: [] }), "i a: its result is of n1, its effect of nobody"],
    [
      "an effect without a result",
      evidence({ effects: [...evidence().effects, { key: "l", instance: "i", step: "b", nonce: "n2", times: 1 }] }),
      "i b: it had an effect, and no result is recorded",
    ],
    [
      "a step with two keys",
      evidence({ effects: [{ key: "l", instance: "i", step: "a", nonce: "n2", times: 1 }, ...evidence().effects] }),
      "i a: it had an effect under two keys",
    ],
    ["a limit that was exceeded", evidence({ peak: 4 }), "4 ran at once under a limit of 3"],
    ["a limit that was not tried", evidence({ peak: 1 }), "only 1 ran at once under a limit of 3: the limit was not put to the test"],
  ])("finds %s", (_, planted, problem) => {
    expect(check(planted).join("\n")).toContain(problem)
  })
})
