import { PerdureError } from "../core/errors.ts"
import type { Outcome } from "../core/execution.ts"
import { InstanceState } from "../core/instance-state.ts"
import type { Recorded } from "../core/journal.ts"
import { defaultLimits } from "../core/limits.ts"
import { lastRun } from "../core/run-history.ts"
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

const patienceMacrotasks = 50

/** Runs the code against a journal, without a store and without running any step; throws where the two disagree. */
export async function replay(workflow: AnyWorkflow, journal: JournalExport, quiesce: (then: () => void) => void): Promise<Replayed> {
  const recorded: readonly Recorded[] = lastRun(journal.rows.flatMap((row) => decodeRow(row)))
  const state = new InstanceState()
  const { id, incarnation, version } = journal.instance
  let stalled: string | undefined
  let describeMissing: (() => string) | undefined
  const silent = () => undefined
  const pipeline = new ReleasePipeline(state, {
    executionSpec: () => ({
      workflow,
      info: { id, workflow: workflow.name, version, incarnation, run: state.run, startedAt: state.startedAt },
      limits: { ...defaultLimits, stepsMax: Infinity },
      log: { debug: silent, info: silent, warn: silent, error: silent },
      enter: (run) => run(),
      guard: silent,
      onActivity: silent,
    }),
    onAccepted: silent,
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
    if (step === "drained") {
      const { execution } = pipeline
      return { outcome: execution?.outcome, asked: [...(execution?.fresh.keys() ?? [])], state }
    }
    if (step === "blocked" && ++blocked > patienceMacrotasks) break
    if (step === "released") blocked = 0
    await new Promise<void>((resolve) => quiesce(resolve))
  }
  throw new PerdureError("JOURNAL_MISMATCH", stalled ?? describeMissing?.() ?? "the code does not follow the journal", { details: { instance: id } })
}
