import type { HistoryEntry } from "../../src/index.ts"
import type { LedgerLine } from "./ledger.ts"
import type { Outcome } from "./scene.ts"

/** Returns the violations in the rollback of an instance, from its journal and from the ledger. */
export function auditUndoing(history: readonly HistoryEntry[], lines: readonly LedgerLine[]): readonly string[] {
  const problems: string[] = []
  const completed = history.filter(({ type }) => type === "step.completed").map(({ data }) => ({ id: data["id"] as string, value: data["value"] as Outcome }))
  const done = completed.filter(({ id }) => !id.endsWith("#rollback"))
  const undone = completed.filter(({ id }) => id.endsWith("#rollback"))
  const expected = done.map(({ id }) => `${id}#rollback`).toReversed()
  const recorded = undone.map(({ id }) => id)
  if (recorded.join() !== expected.join()) problems.push(`undone are ${recorded.join(", ")}; completed were, newest first, ${expected.join(", ")}`)
  for (const { id, value } of undone) {
    const step = done.find((one) => `${one.id}#rollback` === id)
    const ended = lines.find((line) => line.what === "end" && line.step === id && line.nonce === value.nonce)
    if (!ended) problems.push(`${id} is recorded, but that execution is not in the ledger`)
    const begins = lines.filter((line) => line.what === "begin" && line.step === id)
    for (const line of begins) {
      if (line.what !== "begin") continue
      if (line.given["undoes"] !== step?.value.nonce) problems.push(`${id} was given ${String(line.given["undoes"])}, but ${step?.value.nonce} is recorded`)
      if (ended && line.order > ended.order) problems.push(`${id} was done again after it was recorded`)
    }
    if (new Set(begins.map((line) => (line.what === "begin" ? line.key : ""))).size > 1) problems.push(`${id} had several idempotency keys`)
  }
  // A completed but unrecorded execution was interrupted by a kill. Its step was then repeated or aborted.
  const first = lines.find((line) => line.what === "begin" && line.step.endsWith("#rollback"))
  const late = lines.filter((line) => line.what === "begin" && !line.step.endsWith("#rollback") && first && line.order > first.order)
  if (late.length > 0) problems.push(`steps began while it was being undone: ${late.map((line) => (line.what === "begin" ? line.step : "")).join(", ")}`)
  return problems
}
