/** Judges the end of a simulation: nothing acknowledged is lost, and every instance has an allowed outcome. */
import type { Engine } from "../../src/engine/engine.ts"
import { cleanUpStep } from "./interpreter.ts"
import type { Ledger } from "./ledger.ts"
import type { JournalMirror, MirroredInstance } from "./journal-mirror.ts"
import type { InstanceLog, Outside } from "./outside.ts"
import type { Definition, Scenario } from "./program.ts"
import { judgeEnding, type Payloads } from "./reference-model.ts"
import type { RunAudit } from "./run-audit.ts"
import { cancelGraceMs } from "./settings.ts"

export interface InstanceEnding {
  readonly status: string
  readonly result: unknown
  readonly error: string | undefined
}

export interface Verdict {
  readonly violations: readonly string[]
  readonly endings: ReadonlyMap<string, InstanceEnding>
}

export async function judge(
  scenario: Scenario,
  definitions: ReadonlyMap<string, Definition>,
  mirror: JournalMirror,
  ledger: Ledger,
  outside: Outside,
  client: Engine,
): Promise<Verdict> {
  const violations: string[] = []
  const endings = new Map<string, InstanceEnding>()
  for (const { id } of scenario.instances) if (!mirror.instances.has(id)) violations.push(`${id}: it was never started`)
  for (const [id, mirrored] of mirror.instances) {
    const wrong = (what: string | undefined) => {
      if (what !== undefined) violations.push(`${id}: ${what}`)
    }
    const log = outside.log(id)
    const program = definitions.get(mirrored.workflow)?.programs[mirrored.program]
    if (!program || !(await client.components.store.directory.get(id))) {
      wrong("it was committed, but it does not exist")
      continue
    }
    wrong(await isDurable(id, mirrored, client))
    const { status, result, error, run } = await client.describe(id)
    const message = error instanceof Error ? error.message : undefined
    endings.set(id, { status, result, error: message })
    if (mirrored.run.number !== run) wrong(`it is in run ${run}; its last turn was of run ${mirrored.run.number}`)
    const lastSeizure = log.isRestartOpen ? undefined : log.lastSeizure
    const { tried, accepted } = log
    const isCancelRecorded = mirrored.run.cancel !== undefined
    const continuations = [...mirrored.runs.values()].filter(({ continued }) => continued).length
    const isForsaken = mirrored.forsaken?.kind as "cancel" | "terminate" | undefined
    const sent = payloadsOf(id, outside)
    wrong(judgeEnding(program, { status, result, error: message, isCancelRecorded, sent, tried, accepted, run, continuations, isForsaken, lastSeizure }))
    wrong(isCleanedUp(id, mirrored, ledger))
    wrong(isForsakenInTime(mirrored))
    for (const audit of mirrored.runs.values()) wrong(isProvidedFor(audit, mirrored, mirror))
    for (const answer of log.results) wrong(isAnswerTrue(answer, mirrored))
  }
  return { violations, endings }
}

/** The payloads that were sent to the instance and its children, because results of children may be part of its result. */
function payloadsOf(id: string, outside: Outside): Payloads {
  const payloads = new Map<string, Set<string>>()
  for (const [other, { sent }] of outside.logs) {
    if (other !== id && !other.startsWith(`${id}:`)) continue
    for (const [type, values] of sent) payloads.set(type, new Set([...(payloads.get(type) ?? []), ...values]))
  }
  return payloads
}

const patienceMs = 30_000

/** A child must not continue for long after its parent has ended. */
function isForsakenInTime({ forsaken, run: { ended, cancel } }: MirroredInstance): string | undefined {
  if (!forsaken || !ended || ended.at <= forsaken.at + patienceMs || ended.entry.type === "run.terminated") return undefined
  return forsaken.kind === "cancel" && cancel ? undefined : `its parent was over at ${forsaken.at}, and it went on until ${ended.at}`
}

/** Children of an ended run get a message, unless they are abandoned, ended before, or belong to the next run. */
function isProvidedFor({ children, over, number }: RunAudit, { runs }: MirroredInstance, mirror: JournalMirror): string | undefined {
  const next = runs.get(number + 1)
  if (!over && !next) return undefined
  for (const [step, { instance, onParentEnd, isEnded }] of children) {
    const child = mirror.instances.get(instance)
    if (!child || isEnded || onParentEnd === "abandon" || next?.children.has(step)) continue
    const isOverBefore = over && child.run.ended && child.run.ended.order < over.order
    if (!child.forsaken && !isOverBefore && over) return `run ${number} is over, and nobody told child ${instance}`
  }
  return undefined
}

async function isDurable(id: string, mirrored: MirroredInstance, client: Engine): Promise<string | undefined> {
  const rows = await client.components.store.journal.readJournal(id, 1)
  const text = (turns: readonly { position: number; entries: string }[]) => turns.map(({ position, entries }) => `${position} ${entries}`).join("\n")
  return text(rows) === text(mirrored.turns) ? undefined : "its journal is not what was committed"
}

/** The clean-up step runs in a cancelled run, unless the code never began, ended before, or was interrupted by the end of the grace. */
function isCleanedUp(id: string, { run, entries }: MirroredInstance, { traces }: Ledger): string | undefined {
  const { cancel, ended } = run
  if (!cancel || ended?.entry.type !== "run.cancelled" || ended.at >= cancel.at + cancelGraceMs) return undefined
  const hasBegun = entries.some(
    (item) => item.run === run.number && item.position < cancel.position && item.entry.type.endsWith(".started") && "id" in item.entry,
  )
  if (traces.findLast((trace) => trace.instance === id && trace.run === run.number)?.isThrough) return undefined
  return !hasBegun || run.isSettled(cleanUpStep) ? undefined : "it is cancelled without its clean-up"
}

/** The outcome of `result()` must be the end of one of the runs. */
function isAnswerTrue(answer: InstanceLog["results"][number], { runs }: MirroredInstance): string | undefined {
  const endings = [...runs.values()].map(({ ended }) => ended?.entry)
  const isTrue = endings.some((ending) => {
    if (ending === undefined || "error" in answer) return ending !== undefined && ending.type !== "run.completed"
    return ending.type === "run.completed" && JSON.stringify(ending["value"]) === JSON.stringify(answer.value)
  })
  return isTrue ? undefined : `result() answered ${JSON.stringify(answer)}, but no run ended so`
}
