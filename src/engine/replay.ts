import { PerdureError } from "../core/errors.ts"
import type { Execution, ExecutionSpec } from "../core/execution.ts"
import type { Outcome } from "../core/outcome.ts"
import { InstanceState } from "../core/instance-state.ts"
import type { Recorded } from "../core/journal.ts"
import { defaultLimits } from "../core/limits.ts"
import { lastRun, seedOf } from "../core/run-history.ts"
import { decodeRow } from "../core/turn-codec.ts"
import type { AnyWorkflow } from "../core/workflow.ts"
import type { JournalRow, NewInstance } from "../ports/journal-store.ts"
import { ReleasePipeline } from "./release-pipeline.ts"

/** An instance and its whole journal, as tests and people pass it around. */
export interface JournalExport {
  readonly instance: NewInstance
  readonly rows: readonly JournalRow[]
}

export interface Replayed {
  /** What the code came to, if the journal takes it that far. */
  readonly outcome: Outcome | undefined
  /** Ids that the code asks for beyond the journal. */
  readonly asked: readonly string[]
  readonly state: InstanceState
}

/** What replay needs of the platform. */
export interface ReplayHost {
  quiesce(then: () => void): void
  /** Runs workflow code in its scope. */
  enter(run: () => void): void
}

export interface ReplayedRun {
  /** Undefined: its code has not begun. */
  readonly execution: Execution | undefined
  readonly state: InstanceState
}

const patienceMacrotasks = 50

/** Runs the code against a journal, without a store and without running any step; throws where the two disagree. */
export async function replay(workflow: AnyWorkflow, { instance, rows }: JournalExport, quiesce: ReplayHost["quiesce"]): Promise<Replayed> {
  const recorded = lastRun(rows.flatMap((row) => decodeRow(row)))
  const { execution, state } = await replayRun(workflow, instance, recorded, { quiesce, enter: (run) => run() })
  return { outcome: execution?.outcome, asked: [...(execution?.asks.fresh.keys() ?? [])], state }
}

/** The same for the entries of one run; answers the execution as the journal leaves it. */
export async function replayRun(workflow: AnyWorkflow, instance: NewInstance, recorded: readonly Recorded[], host: ReplayHost): Promise<ReplayedRun> {
  const state = new InstanceState()
  let stalled: string | undefined
  let describeMissing: (() => string) | undefined
  const pipeline = new ReleasePipeline(state, {
    executionSpec: () => readOnlySpec(workflow, instance, state, host),
    onAccepted: () => undefined,
    onMissing: (describe) => {
      describeMissing = describe
    },
    onMismatch: (message) => {
      stalled = message
    },
  })
  for (const item of recorded) {
    state.apply(item)
    pipeline.push(item)
  }
  pipeline.markReplay()
  for (let blocked = 0; ;) {
    const step = pipeline.advance()
    if (stalled !== undefined) break
    if (step === "drained") return { execution: pipeline.execution, state }
    if (step === "blocked" && ++blocked > patienceMacrotasks) break
    if (step === "released") blocked = 0
    await new Promise<void>((resolve) => host.quiesce(resolve))
  }
  throw new PerdureError("JOURNAL_MISMATCH", stalled ?? describeMissing?.() ?? "the code does not follow the journal", { details: { instance: instance.id } })
}

/** The code asks, and nothing comes of it. */
function readOnlySpec(workflow: AnyWorkflow, { id, incarnation, version }: NewInstance, state: InstanceState, host: ReplayHost): ExecutionSpec {
  const silent = () => undefined
  const { run, startedAt, parent, seed } = state
  return {
    workflow,
    info: { id, workflow: workflow.name, version, incarnation, run, startedAt, ...(parent ? { parentId: parent.instance } : undefined) },
    seed: seedOf(incarnation, { run, seed }),
    limits: { ...defaultLimits, stepsMax: Infinity },
    log: { debug: silent, info: silent, warn: silent, error: silent },
    enter: (enter) => host.enter(enter),
    guard: silent,
    startChild: () => silent,
    reachChild: () => ({ sendEvent: () => silent, cancel: () => silent }),
    onActivity: silent,
  }
}
