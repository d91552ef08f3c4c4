/** What holds at the end of a simulation: nothing acknowledged is gone, and every instance came to an end that it may have. */
import type { Engine } from "../../src/engine/engine.ts"
import { cleanUpStep } from "./interpreter.ts"
import type { Ledger } from "./ledger.ts"
import type { JournalMirror, MirroredInstance } from "./journal-mirror.ts"
import type { InstanceLog, Outside } from "./outside.ts"
import type { Scenario } from "./program.ts"
import { judgeEnding } from "./reference-model.ts"

export interface InstanceEnding {
  readonly status: string
  readonly result: unknown
  readonly error: string | undefined
}

export interface Verdict {
  readonly violations: readonly string[]
  readonly endings: ReadonlyMap<string, InstanceEnding>
}

export async function judge(scenario: Scenario, mirror: JournalMirror, ledger: Ledger, outside: Outside, client: Engine): Promise<Verdict> {
  const violations: string[] = []
  const endings = new Map<string, InstanceEnding>()
  for (const { id, program } of scenario.instances) {
    const wrong = (what: string | undefined) => {
      if (what !== undefined) violations.push(`${id}: ${what}`)
    }
    const log = outside.log(id)
    const mirrored = mirror.instances.get(id)
    const row = await client.parts.store.directory.get(id)
    if (!mirrored || !row) {
      wrong(log.isStartAcknowledged ? "its start was acknowledged, but it does not exist" : "it was never started")
      continue
    }
    wrong(await isDurable(id, mirrored, client))
    const { status, result, error, run } = await client.describe(id)
    endings.set(id, { status, result, error: error instanceof Error ? error.message : undefined })
    if (mirrored.run.number !== run) wrong(`it is in run ${run}; its last turn was of run ${mirrored.run.number}`)
    const message = error instanceof Error ? error.message : undefined
    const lastSeizure = log.isRestartOpen ? undefined : log.lastSeizure
    const { tried, accepted, sent } = log
    const isCancelRecorded = mirrored.run.cancel !== undefined
    wrong(judgeEnding(program, { status, result, error: message, isCancelRecorded, sent, tried, accepted, run, lastSeizure }))
    wrong(isCleanedUp(id, mirrored, ledger))
    for (const answer of log.results) wrong(isAnswerTrue(answer, mirrored))
  }
  return { violations, endings }
}

async function isDurable(id: string, mirrored: MirroredInstance, client: Engine): Promise<string | undefined> {
  const rows = await client.parts.store.journal.readJournal(id, 1)
  const text = (turns: readonly { position: number; entries: string }[]) => turns.map(({ position, entries }) => `${position} ${entries}`).join("\n")
  return text(rows) === text(mirrored.turns) ? undefined : "its journal is not what was committed"
}

/** The clean-up step runs within a cancelled run, unless the code never began, was through before, or the grace cut it short. */
function isCleanedUp(id: string, { run, entries }: MirroredInstance, { traces }: Ledger): string | undefined {
  const { cancel, ended } = run
  if (!cancel || ended?.entry.type !== "run.cancelled" || ended.at >= cancel.at + 8_000) return undefined
  const hasBegun = entries.some(
    (item) => item.run === run.number && item.position < cancel.position && item.entry.type.endsWith(".started") && "id" in item.entry,
  )
  if (traces.findLast((trace) => trace.instance === id && trace.run === run.number)?.isThrough) return undefined
  return !hasBegun || run.isSettled(cleanUpStep) ? undefined : "it is cancelled without its clean-up"
}

/** What `result()` answered is how one of the runs ended. */
function isAnswerTrue(answer: InstanceLog["results"][number], { runs }: MirroredInstance): string | undefined {
  const endings = [...runs.values()].map(({ ended }) => ended?.entry)
  const isTrue = endings.some((ending) => {
    if (ending === undefined || "error" in answer) return ending !== undefined && ending.type !== "run.completed"
    return ending.type === "run.completed" && JSON.stringify(ending["value"]) === JSON.stringify(answer.value)
  })
  return isTrue ? undefined : `result() answered ${JSON.stringify(answer)}, but no run ended so`
}
