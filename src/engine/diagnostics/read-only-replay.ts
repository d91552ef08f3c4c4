import { PerdureError } from "../../core/errors.ts"
import type { Execution } from "../../core/execution/execution.ts"
import type { ExecutionEnvironment } from "../../core/execution/execution-environment.ts"
import type { Outcome } from "../../core/execution/run-outcome.ts"
import { InstanceState } from "../../core/journal/instance-state.ts"
import type { Recorded } from "../../core/journal/journal.ts"
import { defaultLimits } from "../../core/workflow/input-limits.ts"
import type { PayloadCodecs } from "../../core/values/payload-codecs.ts"
import { lastRun, seedOf } from "../../core/journal/run-history.ts"
import { decodeRow } from "../../core/journal/turn-codec.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { JournalRow, NewInstance } from "../../ports/journal-store.ts"
import { describeDisagreement, type Disagreement } from "../runner/replay.ts"
import { ReleaseQueue } from "../runner/release-queue.ts"

/** An instance and its whole journal, as `journal` of a test engine returns it. */
export interface JournalExport {
  /** The identity of the instance: its id, incarnation, workflow, version, creation and tags. */
  readonly instance: NewInstance
  /** Its journal rows as the store has them, from the first row on. */
  readonly rows: readonly JournalRow[]
}

/** The result of a replay. */
export interface Replayed {
  /** The outcome of the code, if the journal reaches the end of the code. */
  readonly outcome: Outcome | undefined
  /** Ids that the code asks for beyond the journal. */
  readonly asked: readonly string[]
  /** The state of the instance after the journal: its status, open steps and buffered events. */
  readonly state: InstanceState
}

/** The platform functions that a replay needs. */
export interface ReplayHost {
  quiesce(then: () => void): void
  /** Runs workflow code in its scope. */
  enter(run: () => void): void
  /** Waits for code that has not reached a recorded ask. It may await something outside `ctx`. Returns false if the code stayed inactive until the time was up. */
  patience(activity: Promise<void>): Promise<boolean>
}

export interface ReplayedRun {
  readonly execution: Execution
  readonly state: InstanceState
}

const patienceMacrotasks = 50

/** Waits for a few macrotasks, which is enough for code that awaits plain computation. */
export async function shortPatience(activity: Promise<void>, quiesce: ReplayHost["quiesce"]): Promise<boolean> {
  let isActive = false
  void activity.then(() => (isActive = true))
  for (let passed = 0; passed < patienceMacrotasks && !isActive; passed++) await new Promise<void>((resolve) => quiesce(resolve))
  return isActive
}

/** Runs the code on a journal, without a store and without running a step. Throws `JOURNAL_MISMATCH` if the two disagree. */
export async function replay(
  workflow: AnyWorkflow,
  { instance, rows }: JournalExport,
  quiesce: ReplayHost["quiesce"],
  codecs?: PayloadCodecs,
): Promise<Replayed> {
  const recorded = lastRun(rows.flatMap((row) => decodeRow(codecs ? { ...row, codecs } : row)))
  const patience = (activity: Promise<void>) => shortPatience(activity, quiesce)
  const { execution, state } = await replayRun(workflow, instance, recorded, { quiesce, enter: (run) => run(), patience })
  return { outcome: execution.outcome, asked: execution.asks.fresh.keys(), state }
}

/** Replays the entries of one run. Returns the execution in the state after the last entry. */
export async function replayRun(workflow: AnyWorkflow, instance: NewInstance, recorded: readonly Recorded[], host: ReplayHost): Promise<ReplayedRun> {
  const state = new InstanceState()
  let stalled: Disagreement | undefined
  let describeMissing: (() => Disagreement) | undefined
  let onActivity = () => undefined as void
  const releaseQueue = new ReleaseQueue(state, {
    workflow,
    executionEnvironment: () => readOnlySpec(workflow, instance, state, { enter: (run) => host.enter(run), onActivity: () => onActivity() }),
    onAskMatched: () => undefined,
    onAskMissing: (describe) => {
      describeMissing = describe
    },
    onMismatch: (disagreement) => {
      stalled = disagreement
    },
  })
  for (const item of recorded) {
    state.apply(item)
    releaseQueue.push(item)
  }
  releaseQueue.markReplay()
  for (;;) {
    const step = releaseQueue.advance()
    if (stalled !== undefined) break
    if (step === "drained" && releaseQueue.execution) return { execution: releaseQueue.execution, state }
    if (step === "drained") break
    if (step === "blocked" && !(await host.patience(new Promise((resolve) => (onActivity = resolve))))) break
    await new Promise<void>((resolve) => host.quiesce(resolve))
  }
  const disagreement = stalled ?? describeMissing?.()
  throw new PerdureError(
    "JOURNAL_MISMATCH",
    disagreement ? describeDisagreement(disagreement) : "the code does not match the journal; deploy the code that recorded it",
    {
      details: { instance: instance.id, ...disagreement },
    },
  )
}

/** The environment of code whose asks have no effect. */
function readOnlySpec(
  workflow: AnyWorkflow,
  { id, incarnation, version }: NewInstance,
  state: InstanceState,
  driver: Pick<ExecutionEnvironment, "enter" | "onActivity">,
): ExecutionEnvironment {
  const silent = () => undefined
  const limits = { ...defaultLimits, stepsMax: Infinity }
  const { run, startedAt, parent, seed, schedule } = state
  const origin = { ...(parent ? { parentId: parent.instance } : undefined), ...(schedule ? { schedule } : undefined) }
  return {
    workflow,
    info: { id, workflow: workflow.name, version, incarnation, run, startedAt, attempt: 1, ...origin },
    seed: seedOf(incarnation, { run, seed }),
    limits,
    log: { debug: silent, info: silent, warn: silent, error: silent },
    ...driver,
    guard: silent,
    childEffects: { startChild: () => silent, sendEvent: () => silent, cancel: () => silent },
  }
}
