// Tests of the audit that judges the kill test. Each case spoils sound evidence in one way, which the audit has to find.

import { describe, expect, it } from "vitest"
import type { HistoryEntry } from "../../src/index.ts"
import { audit, type Evidence } from "./audit.ts"
import type { LedgerEntry, LedgerLine } from "./ledger.ts"

const journal: readonly (readonly [HistoryEntry["type"], Record<string, unknown>])[] = [
  ["run.started", {}],
  ["step.started", { id: "a", attempt: 1 }],
  ["recovered", { worker: "w" }],
  ["step.started", { id: "a", attempt: 2 }],
  ["step.failed", { id: "a", attempt: 2, value: new Error("2.1"), retryAt: 50 }],
  ["step.started", { id: "a", attempt: 3 }],
  ["step.completed", { id: "a", value: { value: 1, nonce: "2.2" } }],
  ["sleep.started", { id: "limit", wakeAt: 60 }],
  ["step.started", { id: "runner", attempt: 1 }],
  ["wait.started", { id: "flag", event: "flag" }],
  ["event.received", { event: "flag", eventId: "e1", value: 9 }],
  ["wait.completed", { id: "flag", from: 11 }],
  ["step.started", { id: "outer", attempt: 1 }],
  ["step.started", { id: "outer/in", attempt: 1 }],
  ["step.completed", { id: "outer/in", value: { value: 2, nonce: "2.3" } }],
  ["step.completed", { id: "outer", value: { value: 3, nonce: "3.1" } }],
  ["run.completed", { value: { value: 7, seen: { a: "2.2", winner: "flag" } } }],
]

const begin = (step: string, attempt: number, given: Record<string, unknown> = {}): LedgerEntry => ({
  what: "begin",
  instance: "i",
  step,
  attempt,
  key: `key of ${step}`,
  given,
})
const end = (step: string, nonce: string, value: number): LedgerEntry => ({ what: "end", instance: "i", step, key: `key of ${step}`, nonce, value })
const saw = (value: string): LedgerEntry => ({ what: "saw", instance: "i", point: "winner", value })
const known = { a: "2.2", winner: "flag" }

const ledger: readonly (readonly [life: number, at: number, entry: LedgerEntry])[] = [
  [1, 10, begin("a", 1)],
  [2, 20, begin("a", 2)],
  [2, 21, { what: "fail", instance: "i", step: "a", key: "key of a", nonce: "2.1" }],
  [2, 50, begin("a", 3)],
  [2, 51, end("a", "2.2", 1)],
  [2, 52, begin("runner", 1, { a: "2.2" })],
  [2, 53, saw("limit")],
  [2, 54, saw("flag")],
  [2, 55, begin("outer", 1, known)],
  [2, 56, begin("outer/in", 1, known)],
  [2, 57, end("outer/in", "2.3", 2)],
  [2, 58, { what: "held", instance: "i", step: "outer/in", value: "2.3" }],
  [3, 70, saw("flag")],
  [3, 71, begin("outer", 1, known)],
  [3, 72, { what: "held", instance: "i", step: "outer/in", value: "2.3" }],
  [3, 73, end("outer", "3.1", 3)],
]

interface Spoilt {
  readonly journal?: typeof journal
  readonly ledger?: typeof ledger
  readonly evidence?: Partial<Evidence>
}

function judge(spoilt: Spoilt = {}): readonly string[] {
  const history = (spoilt.journal ?? journal).map(([type, data], index): HistoryEntry => ({ position: index + 1, run: 1, at: 80, type, data }))
  const lines = (spoilt.ledger ?? ledger).map(([life, at, entry], index): LedgerLine => ({ life, seq: index + 1, order: index, at, ...entry }))
  return audit({
    plan: { id: "i", value: 7 },
    history,
    lines,
    result: { value: 7, seen: { a: "2.2", winner: "flag" } },
    sent: [{ type: "flag", payload: 9, eventId: "e1", afterMs: 0, twice: false }],
    lifeStarts: new Map([
      [1, 5],
      [2, 15],
      [3, 65],
      [4, 90],
    ]),
    ...spoilt.evidence,
  })
}

const insertedLine = (index: number, ...line: (typeof ledger)[number]) => ({ ledger: ledger.toSpliced(index, 0, line) })
const changedLine = (index: number, entry: LedgerEntry) => ({ ledger: ledger.with(index, [ledger[index]![0], ledger[index]![1], entry]) })
const changedEntry = (position: number, data: Record<string, unknown>) => ({ journal: journal.with(position - 1, [journal[position - 1]![0], data]) })

const spoilings: Record<string, Spoilt> = {
  "its result is 7, not 8": { evidence: { plan: { id: "i", value: 8 } } },
  "the client got {": { evidence: { result: { value: 7, seen: {} } } },
  "of flag [] were acknowledged, [e1=9] received": { evidence: { sent: [] } },
  "it has not completed": { journal: journal.slice(0, -1) },
  "a ended with line 5 of life 2, was recorded, and began again": insertedLine(5, 2, 51, begin("a", 4)),
  "attempt 4 of a (line 6 of life 2) began and is not recorded as started": insertedLine(5, 2, 51, begin("a", 4)),
  "attempt 3 of a (line 5 of life 2) began after attempt 3": insertedLine(4, 2, 51, begin("a", 3)),
  "attempt 3 of a (line 4 of life 2) began before its retry was due": { ledger: ledger.with(3, [2, 49, begin("a", 3)]) },
  "runner (line 6 of life 2) began on a = 1.1, the journal says 2.2": changedLine(5, begin("runner", 1, { a: "1.1" })),
  "began on winner = limit, the journal says flag": changedLine(8, begin("outer", 1, { ...known, winner: "limit" })),
  "winner was flag when outer began, and limit later (line 13 of life 3)": changedLine(12, saw("limit")),
  "the recorded outcome of a is not that of any execution": changedEntry(7, { id: "a", value: { value: 1, nonce: "9.9" } }),
  "a came to 1, recorded is 5": changedEntry(7, { id: "a", value: { value: 5, nonce: "2.2" } }),
  "outer/in began again (line 15 of life 3) after its result was handed out": insertedLine(14, 3, 71, begin("outer/in", 1, known)),
  "an outer function got 3.9 of outer/in": changedLine(14, { what: "held", instance: "i", step: "outer/in", value: "3.9" }),
  "outer was entered as attempt 1, then as 2": changedLine(13, begin("outer", 2, known)),
  "it had ended when life 4 began, and ran in it": insertedLine(16, 4, 95, saw("flag")),
  "has another idempotency key than before": changedLine(3, { ...begin("a", 3), key: "other" } as LedgerEntry),
  "two steps have one idempotency key": changedLine(5, { ...begin("runner", 1, { a: "2.2" }), key: "key of a" } as LedgerEntry),
  "a is settled twice": { journal: journal.toSpliced(7, 0, journal[6]!) },
}

describe("the audit", () => {
  it("finds nothing in sound evidence, in which a crash took back what the code had seen", () => {
    expect(judge()).toEqual([])
  })

  it.each(Object.entries(spoilings))("finds: %s", (finding, spoilt) => {
    expect(judge(spoilt).join("\n")).toContain(finding)
  })
})
