import { describe, expect, it } from "vitest"
import type { HistoryEntry } from "../../src/index.ts"
import type { LedgerEntry, LedgerLine } from "./ledger.ts"
import { auditUndoing } from "./undoing-audit.ts"

const completed = (id: string, nonce: string, position: number): HistoryEntry => ({
  position,
  run: 1,
  at: 0,
  type: "step.completed",
  data: { id, value: { value: 0, nonce } },
})
const begin = (step: string, undoes?: string, key = step): LedgerEntry => ({
  what: "begin",
  instance: "i",
  step,
  attempt: 1,
  key,
  given: undoes === undefined ? {} : { undoes },
})
const end = (step: string, nonce: string): LedgerEntry => ({ what: "end", instance: "i", step, key: step, nonce, value: 0 })
const ledger = (...entries: readonly LedgerEntry[]): readonly LedgerLine[] => entries.map((entry, order) => ({ ...entry, life: 1, seq: order, order, at: 0 }))

const history = [completed("a", "1", 1), completed("b", "2", 2), completed("b#rollback", "3", 3), completed("a#rollback", "4", 4)]
const steps = [begin("a"), end("a", "1"), begin("b"), end("b", "2")]
const undoneB = [begin("b#rollback", "2"), end("b#rollback", "3")]
const undoneA = [begin("a#rollback", "1"), end("a#rollback", "4")]

describe("the audit of what was undone", () => {
  it("finds nothing wrong where all is in order, also with an execution that was cut off", () => {
    expect(auditUndoing(history, ledger(...steps, ...undoneB, ...undoneA))).toEqual([])
    expect(auditUndoing(history, ledger(...steps, begin("b#rollback", "2"), ...undoneB, ...undoneA))).toEqual([])
  })

  it.each([
    ["a step that was not undone", history.slice(0, 3), [...steps, ...undoneB], /undone are b#rollback; completed were/],
    ["the wrong order", [history[0]!, history[1]!, history[3]!, history[2]!], [...steps, ...undoneA, ...undoneB], /newest first/],
    ["what was done again after it was recorded", history, [...steps, ...undoneB, ...undoneA, begin("b#rollback", "2")], /done again/],
    ["a result that is not the recorded one", history, [...steps, begin("b#rollback", "9"), ...undoneB, ...undoneA], /was given 9/],
    ["what is recorded and never happened", history, [...steps, ...undoneB], /not in the ledger/],
    ["several keys", history, [...steps, begin("b#rollback", "2", "other"), ...undoneB, ...undoneA], /several idempotency keys/],
    ["a step that begins meanwhile", history, [...steps, ...undoneB, begin("c"), ...undoneA], /began while it was being undone: c/],
  ])("finds %s", (_what, entries, lines, problem) => {
    expect(auditUndoing(entries, ledger(...lines)).join("\n")).toMatch(problem)
  })
})
