// Compares what really happened (the ledger) with what is recorded (the history) and what was promised (acknowledgements).
//
// The criteria are sound, whenever a kill came:
//   again     Each execution of a function has a nonce, which its result or error carries into the journal. Where the journal
//             has a nonce, that execution was recorded: no execution of the same step may begin after it ended.
//   given     A function begins only when all that the code knew is durable. Its input must be in the final journal,
//             before its own start, whatever became of the process later. So each attempt of a step is given the same.
//   mind      Code outside steps may see a result that a crash then discards. Once a step begins whose input depends on
//             the result, the result is durable: no later replay may see another one.
//   held      A nested result reaches the outer function only when durable: it may never be another one, nor run again.

import { isDeepStrictEqual } from "node:util"
import type { HistoryEntry } from "../../src/index.ts"
import { JournalView } from "./journal-view.ts"
import type { LedgerLine } from "./ledger.ts"
import type { Plan, PlannedEvent } from "./plan.ts"
import type { SceneResult } from "./scene.ts"

export interface Evidence {
  readonly plan: Pick<Plan, "id" | "value">
  /** The lines of the instance in the ledger, in order. */
  readonly lines: readonly LedgerLine[]
  readonly history: readonly HistoryEntry[]
  readonly result: SceneResult
  /** The acknowledged events, in the order of acknowledgement. */
  readonly sent: readonly PlannedEvent[]
  /** The start time of each process. */
  readonly lifeStarts: ReadonlyMap<number, number>
}

type Line<W extends LedgerLine["what"]> = Extract<LedgerLine, { what: W }>

/** Returns all violations of an instance. */
export function audit(evidence: Evidence): readonly string[] {
  const view = new JournalView(evidence.history)
  const problems = [
    ...view.problems,
    ...auditResult(evidence, view),
    ...auditEvents(evidence, view),
    ...auditBegins(evidence, view),
    ...auditRecorded(evidence, view),
    ...auditMind(evidence),
    ...auditHeld(evidence, view),
    ...auditReentry(evidence, view),
    ...auditEnd(evidence, view),
  ]
  return problems.map((problem) => `${evidence.plan.id}: ${problem}`)
}

const of = <W extends LedgerLine["what"]>({ lines }: Evidence, what: W) => lines.filter((line): line is Line<W> => line.what === what)

const isAfter = (a: LedgerLine, b: LedgerLine) => a.order > b.order

const place = ({ life, seq }: LedgerLine) => `line ${seq} of life ${life}`

function auditResult({ plan, result }: Evidence, view: JournalView): string[] {
  const problems: string[] = []
  if (result.value !== plan.value) problems.push(`its result is ${result.value}, not ${plan.value}`)
  if (!isDeepStrictEqual(view.ended?.value, result))
    problems.push(`the journal ends with ${JSON.stringify(view.ended?.value)}, the client got ${JSON.stringify(result)}`)
  for (const [name, value] of Object.entries(result.seen)) {
    const known = view.known(name)
    if (!isDeepStrictEqual(known?.value, value)) problems.push(`at its end it had seen ${name} = ${String(value)}, the journal says ${String(known?.value)}`)
  }
  return problems
}

/** Each acknowledged event is received once, and events of one type in the order of acknowledgement. */
function auditEvents({ sent }: Evidence, view: JournalView): string[] {
  return [...new Set([...sent.map(({ type }) => type), ...view.events.map(({ event }) => event)])].flatMap((type) => {
    const acknowledged = sent.filter((event) => event.type === type).map(({ eventId, payload }) => `${eventId}=${payload}`)
    const received = view.events.filter(({ event }) => event === type).map(({ eventId, value }) => `${eventId}=${String(value)}`)
    return isDeepStrictEqual(acknowledged, received) ? [] : [`of ${type} [${acknowledged.join()}] were acknowledged, [${received.join()}] received`]
  })
}

function auditBegins(evidence: Evidence, view: JournalView): string[] {
  const problems: string[] = []
  const keys = new Map<string, string>()
  const attempts = new Map<string, number>()
  for (const line of of(evidence, "begin")) {
    const { step, attempt, key, given, at } = line
    const where = `attempt ${attempt} of ${step} (${place(line)})`
    const startedAt = view.started.get(`${step} ${attempt}`)
    if (startedAt === undefined) problems.push(`${where} began and is not recorded as started`)
    if ((keys.get(step) ?? key) !== key) problems.push(`${where} has another idempotency key than before`)
    keys.set(step, key)
    const last = attempts.get(step) ?? 0
    if (view.hasNested(step) ? attempt < last : attempt <= last) problems.push(`${where} began after attempt ${last}`)
    attempts.set(step, attempt)
    for (const [name, value] of Object.entries(given)) {
      const known = view.known(name)
      if (!isDeepStrictEqual(known?.value, value)) problems.push(`${where} began on ${name} = ${String(value)}, the journal says ${String(known?.value)}`)
      if (known && startedAt !== undefined && known.position > startedAt) problems.push(`${where} is recorded before ${name}, which it was given`)
      const wakeAt = view.sleeps.get(name)
      if (wakeAt !== undefined && at < wakeAt) problems.push(`${where} began ${wakeAt - at} ms before the end of sleep ${name}`)
    }
    for (const { id, attempt: failed, retryAt } of view.failures) {
      if (id === step && failed < attempt && at < (retryAt ?? Infinity)) problems.push(`${where} began before its retry was due, or after the last`)
    }
  }
  if (new Set(keys.values()).size !== keys.size) problems.push("two steps have one idempotency key")
  return problems
}

/** Each recorded result was really executed with that outcome, and was not executed again. */
function auditRecorded(evidence: Evidence, view: JournalView): string[] {
  const begins = of(evidence, "begin")
  const notAgain = (step: string, ended: LedgerLine | undefined, isLast: boolean): string[] => {
    if (!ended) return [`the recorded outcome of ${step} is not that of any execution`]
    const again = isLast ? begins.find((line) => line.step === step && isAfter(line, ended)) : undefined
    return again ? [`${step} ended with ${place(ended)}, was recorded, and began again with ${place(again)}`] : []
  }
  const completed = [...view.results].flatMap(([step, { value, nonce }]) => {
    const ended = of(evidence, "end").find((line) => line.step === step && line.nonce === nonce)
    const problems = notAgain(step, ended, true)
    return ended && ended.value !== value ? [...problems, `${step} came to ${ended.value}, recorded is ${value}`] : problems
  })
  const failed = view.failures.flatMap(({ id, nonce, retryAt }) => {
    const ended = of(evidence, "fail").find((line) => line.step === id && line.nonce === nonce)
    return notAgain(id, ended, retryAt === undefined)
  })
  return [...completed, ...failed]
}

function auditMind(evidence: Evidence): string[] {
  const begins = of(evidence, "begin")
  return of(evidence, "saw").flatMap((line) => {
    const bound = begins.find((begin) => line.point in begin.given && isAfter(line, begin))
    if (!bound || isDeepStrictEqual(bound.given[line.point], line.value)) return []
    return [`${line.point} was ${String(bound.given[line.point])} when ${bound.step} began, and ${String(line.value)} later (${place(line)})`]
  })
}

function auditHeld(evidence: Evidence, view: JournalView): string[] {
  const begins = of(evidence, "begin")
  return of(evidence, "held").flatMap((line) => {
    const { step, value } = line
    const known = view.known(step)?.value
    const problems = isDeepStrictEqual(known, value)
      ? []
      : [`an outer function got ${String(value)} of ${step} (${place(line)}), the journal says ${String(known)}`]
    const again = begins.find((begin) => begin.step === step && isAfter(begin, line))
    return again ? [...problems, `${step} began again (${place(again)}) after its result was handed out`] : problems
  })
}

/** An open outer step is entered again with the same attempt number once something inside it began. */
function auditReentry(evidence: Evidence, view: JournalView): string[] {
  const problems: string[] = []
  const outer = new Map<string, { readonly attempt: number; bound: boolean }>()
  for (const line of evidence.lines) {
    if (line.what === "fail") outer.delete(line.step)
    if (line.what !== "begin") continue
    for (const [step, entered] of outer) if (line.step.startsWith(`${step}/`)) entered.bound = true
    const before = outer.get(line.step)
    if (before?.bound && before.attempt !== line.attempt) problems.push(`${line.step} was entered as attempt ${before.attempt}, then as ${line.attempt}`)
    if (view.hasNested(line.step)) outer.set(line.step, { attempt: line.attempt, bound: before?.bound ?? false })
  }
  return problems
}

/** Nothing of an ended instance runs in a process that began later. */
function auditEnd({ lines, lifeStarts }: Evidence, view: JournalView): string[] {
  const endedAt = view.ended?.at ?? Infinity
  const late = lines.find((line) => (lifeStarts.get(line.life) ?? 0) > endedAt)
  return late ? [`it had ended when life ${late.life} began, and ran in it (${place(late)})`] : []
}
