// Checks whether the journals and effects after the chaos are possible for workflows that were executed as promised. The checker knows nothing of the engine.

import type { HistoryEntry } from "../../../../src/index.ts"
import type { Effect, JournalSpan } from "./effects.ts"

export interface ChaosEvidence {
  /** Acknowledged starts. */
  readonly acknowledged: Iterable<string>
  /** Acknowledged events: the payload, by instance. */
  readonly sent: ReadonlyMap<string, string>
  /** The rows of all instances. */
  readonly histories: ReadonlyMap<string, readonly HistoryEntry[]>
  /** The rows of all journals, by position. */
  readonly spans: readonly JournalSpan[]
  readonly effects: readonly Effect[]
  /** The largest number of instances that ran at once under the limit. */
  readonly peak: number
  readonly limit: number
}

export function check(evidence: ChaosEvidence): readonly string[] {
  const { acknowledged, histories, peak, limit } = evidence
  const problems: string[] = []
  for (const id of acknowledged) if (!histories.has(id)) problems.push(`${id}: its start was acknowledged, and it is not there`)
  for (const [id, history] of histories) problems.push(...checkHistory(history).map((problem) => `${id}: ${problem}`))
  problems.push(...checkEvents(evidence), ...checkSpans(evidence), ...checkEffects(evidence))
  if (peak > limit) problems.push(`${peak} ran at once under a limit of ${limit}`)
  if (peak < limit) problems.push(`only ${peak} ran at once under a limit of ${limit}: the limit was not put to the test`)
  return problems
}

const endings = new Set(["run.completed", "run.failed", "run.cancelled", "run.terminated"])
const settlings = new Set(["step.completed", "sleep.completed", "wait.completed", "wait.timedOut", "child.ended"])

function checkHistory(history: readonly HistoryEntry[]): string[] {
  const problems: string[] = []
  const settled = new Set<string>()
  const attempts = new Set<string>()
  const known: unknown[] = []
  let end: HistoryEntry | undefined
  for (const [index, entry] of history.entries()) {
    const { position, type, data } = entry
    const id = String(data["id"])
    if (position !== index + 1) problems.push(`position ${position} stands at place ${index + 1}`)
    // A worker that takes over an instance which another worker ends at that moment records that there is no hook to call.
    if (end && type !== "hook.completed") problems.push(`${type} at ${position} follows the end`)
    if (endings.has(type)) end = entry
    if (type === "stalled") problems.push(`it stalled: ${String(data["message"])}`)
    if (type === "step.failed" && data["retryAt"] === undefined) problems.push(`step ${id} failed for good`)
    if (type === "step.started") {
      const attempt = `${id} ${String(data["attempt"])}`
      if (attempts.has(attempt)) problems.push(`attempt ${attempt} is recorded twice`)
      if (settled.has(id) && data["child"] === undefined) problems.push(`attempt ${attempt} is recorded after its step's end`)
      attempts.add(attempt)
    }
    if (settlings.has(type)) {
      // The start of a child and its end are two entries.
      const what = type === "child.ended" ? `${id} (child)` : id
      if (settled.has(what)) problems.push(`${what} has a second result at ${position}`)
      settled.add(what)
    }
    if (type === "step.completed" && typeof data["value"] === "string") known.push(data["value"])
    if (type === "event.received") known.push(data["value"])
    if (type === "child.ended") known.push(...(data["value"] as unknown[]))
  }
  if (end?.type !== "run.completed") return [...problems, `it did not complete, but ${end?.type ?? "has not ended"}`]
  const result = end.data["value"] as unknown[]
  const sorted = (values: readonly unknown[]) => JSON.stringify(values.map(String).toSorted((a, b) => (a < b ? -1 : 1)))
  if (sorted(result) !== sorted(known)) problems.push(`its result is ${JSON.stringify(result)}, but its journal has ${JSON.stringify(known)}`)
  return problems
}

function checkEvents({ sent, histories }: ChaosEvidence): string[] {
  const problems: string[] = []
  for (const [id, word] of sent) {
    const received = (histories.get(id) ?? []).filter(({ type }) => type === "event.received")
    if (received.length !== 1 || received[0]?.data["value"] !== word) problems.push(`${id}: an acknowledged event was received ${received.length} times`)
  }
  return problems
}

function checkSpans({ spans, histories }: ChaosEvidence): string[] {
  const problems: string[] = []
  const next = new Map<string, number>()
  for (const { id, position, count } of spans) {
    const expected = next.get(id) ?? 1
    if (position !== expected) problems.push(`${id}: a row begins at ${position} where ${expected} comes next`)
    next.set(id, position + count)
  }
  for (const [id, history] of histories)
    if (next.get(id) !== history.length + 1) problems.push(`${id}: its rows end before ${next.get(id) ?? 1}, its history has ${history.length} entries`)
  return problems
}

/** Each result is the effect of its step, each effect has a result, and no step had two effects. */
function checkEffects({ effects, histories }: ChaosEvidence): string[] {
  const problems: string[] = []
  const ofStep = new Map<string, Effect>()
  for (const effect of effects) {
    const step = `${effect.instance} ${effect.step}`
    if (ofStep.has(step)) problems.push(`${step}: it had an effect under two keys`)
    ofStep.set(step, effect)
  }
  for (const [id, history] of histories) {
    for (const { type, data } of history) {
      if (type !== "step.completed" || typeof data["value"] !== "string") continue
      const step = `${id} ${String(data["id"])}`
      const effect = ofStep.get(step)
      if (effect?.nonce !== data["value"]) problems.push(`${step}: its result is of ${data["value"]}, its effect of ${effect?.nonce ?? "nobody"}`)
      ofStep.delete(step)
    }
  }
  for (const step of ofStep.keys()) problems.push(`${step}: it had an effect, and no result is recorded`)
  return problems
}
