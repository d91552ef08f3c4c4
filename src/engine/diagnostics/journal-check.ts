import { failureText, textOf } from "../../core/values/error-text.ts"
import { PerdureError } from "../../core/errors.ts"
import type { Recorded } from "../../core/journal/journal.ts"
import { lastRun } from "../../core/journal/run-history.ts"
import type { Status } from "../../core/journal/status.ts"
import { isUnwinding } from "../../core/journal/run-deadline.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { NewInstance } from "../../ports/journal-store.ts"
import { replayRun, shortPatience, type ReplayHost } from "./read-only-replay.ts"

/**
 * Replays the journals of open instances with other code, to say before a deploy what the deploy would do to them. Nothing is written, and no step is
 * run. A bounded number of journals is in memory at a time.
 */
export async function checkAll(workflows: readonly AnyWorkflow[], journals: AsyncIterable<CheckedJournal>, host: CheckHost): Promise<CheckReport> {
  const checker = new JournalChecker(workflows, host)
  const underWay = new Set<Promise<void>>()
  for await (const journal of journals) {
    if (host.signal?.aborted === true) break
    const check: Promise<void> = checker.check(journal).finally(() => underWay.delete(check))
    underWay.add(check)
    if (underWay.size >= concurrencyMax) await Promise.race(underWay)
  }
  await Promise.all(underWay)
  return checker.report
}

const concurrencyMax = 64
/** After this many waits that helped no instance of a workflow and version, further instances of that version do not wait. */
const waitedInVainMax = 10

/** An open instance with the entries of all of its runs, or of the last run. */
export interface CheckedJournal {
  readonly instance: NewInstance
  readonly status?: Status
  readonly recorded: readonly Recorded[]
}

export interface CheckHost extends Pick<ReplayHost, "quiesce"> {
  /** Runs workflow code in its scope. */
  enter(instance: string, run: () => void): void
  /** Waits for code that awaits something outside `ctx`, such as `import()`. Resolves with true if the code became active. */
  wait(activity: Promise<void>): Promise<boolean>
  onProgress?(checked: number): void
  readonly signal?: AbortSignal
}

/**
 * `stalls`: the instance would stall, because the code asks for something else than its journal has. `fails`: the code throws on the recorded entries.
 * `no-version`: the given workflows lack its version. `unreadable`: its journal could not be read.
 */
export type CheckProblemKind = "stalls" | "fails" | "no-version" | "unreadable"

/** An instance that the code does not fit. */
export interface CheckProblem {
  /** What would happen to the instance. */
  readonly kind: CheckProblemKind
  /** The id of the instance. */
  readonly instance: string
  /** The name of its workflow. */
  readonly workflow: string
  /** The version that it was started with. */
  readonly version: string
  /** Its status when it was read; undefined if the source does not have it. */
  readonly status?: Status
  /** The problem in a sentence. */
  readonly message: string
  /** For `stalls`: the step at which code and journal disagree. */
  readonly step?: string
  /** For `stalls`: the position of that step in the journal. */
  readonly position?: number
  /** For `stalls`: what the journal has there. */
  readonly expected?: string
  /** For `stalls`: what the code asks for instead. */
  readonly found?: string
}

/** The result of `checkJournals`. */
export interface CheckReport {
  /** How many instances were checked. */
  readonly checked: number
  /** Instances that the code does not fit and that were not stalled before. */
  readonly problems: readonly CheckProblem[]
  /** Instances that are stalled already, and would stay stalled with this code. */
  readonly stillStalled: readonly CheckProblem[]
  /** Ids of stalled instances that the code fits: resume them after the deploy. */
  readonly cured: readonly string[]
}

class JournalChecker {
  readonly #workflows: readonly AnyWorkflow[]
  readonly #host: CheckHost
  readonly #waitedInVain = new Map<string, number>()
  readonly #problems: CheckProblem[] = []
  readonly #stillStalled: CheckProblem[] = []
  readonly #cured: string[] = []
  #checked = 0

  constructor(workflows: readonly AnyWorkflow[], host: CheckHost) {
    this.#workflows = workflows
    this.#host = host
  }

  get report(): CheckReport {
    return { checked: this.#checked, problems: this.#problems, stillStalled: this.#stillStalled, cured: this.#cured }
  }

  async check(journal: CheckedJournal): Promise<void> {
    const found = await this.#problemOf(journal)
    const { instance, status } = journal
    this.#checked++
    this.#host.onProgress?.(this.#checked)
    if (!found) {
      if (status === "stalled") this.#cured.push(instance.id)
      return
    }
    const { id, workflow, version } = instance
    const problem = { instance: id, workflow, version, ...(status === undefined ? undefined : { status }), ...found }
    if (status === "stalled") this.#stillStalled.push(problem)
    else this.#problems.push(problem)
  }

  async #problemOf({ instance, recorded }: CheckedJournal): Promise<Found | undefined> {
    const workflow = this.#workflows.find(({ name, version }) => name === instance.workflow && version === instance.version)
    if (!workflow) return { kind: "no-version", message: noVersion(instance, this.#workflows) }
    try {
      const { execution, state } = await replayRun(workflow, instance, lastRun(recorded), {
        quiesce: (then) => this.#host.quiesce(then),
        enter: (run) => this.#host.enter(instance.id, run),
        patience: (activity) => this.#patience(workflow, activity),
      })
      const { outcome } = execution
      // The code of an instance that is cancelled or rolled back is expected to throw.
      if (!outcome || outcome.ok || state.ended || state.cancel || isUnwinding(state)) return undefined
      return { kind: "fails", message: `its code throws on what is recorded: ${failureText(outcome.error, workflow)}` }
    } catch (error) {
      if (!PerdureError.is(error, "JOURNAL_MISMATCH")) return { kind: "unreadable", message: textOf(error) }
      const { instance: _, ...sides } = error.details
      return { kind: "stalls", message: error.message.replace("; deploy the code that recorded it, then resume", ""), ...sides }
    }
  }

  async #patience({ name, version }: AnyWorkflow, activity: Promise<void>): Promise<boolean> {
    const key = `${name}/${version}`
    const inVain = this.#waitedInVain.get(key) ?? 0
    if (await shortPatience(activity, this.#host.quiesce)) return true
    if (inVain >= waitedInVainMax) return false
    const helped = await this.#host.wait(activity)
    this.#waitedInVain.set(key, helped ? -Infinity : inVain + 1)
    return helped
  }
}

type Found = Omit<CheckProblem, "instance" | "workflow" | "version" | "status">

function noVersion({ workflow, version }: NewInstance, workflows: readonly AnyWorkflow[]): string {
  const known = workflows.filter(({ name }) => name === workflow).map((one) => `"${one.version}"`)
  if (known.length === 0) return `there is no workflow "${workflow}" any more`
  return `there is no version "${version}" of workflow "${workflow}" any more; there is ${known.join(", ")}`
}
