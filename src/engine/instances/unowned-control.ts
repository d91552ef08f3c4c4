import { isAsk, type EntryOf } from "../../core/journal/journal.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import type { ControlResult } from "../../client-api/client-api.ts"
import { cancelledEntry } from "../runner/ending-entry.ts"
import { deadlineOf } from "../flow-control/flow-traits.ts"
import type { WorkflowRegistry } from "../workflow-registry.ts"
import { foldOf, tryForcedTurn, type ForcedTurnContent, type CurrentRun } from "./forced-turn.ts"
import type { Worker } from "../worker/worker.ts"

export interface UnownedControlContext {
  readonly worker: Worker
  readonly registry: WorkflowRegistry
}

/**
 * Pauses or cancels an instance that no worker runs. The caller writes the entry itself, at the next position. If a worker has claimed the instance
 * meanwhile, one of the two turns is lost. If the worker's turn is lost, the worker loads the instance again. If the caller's turn is lost, this
 * function returns undefined, and nothing was written.
 */
export async function controlUnowned(
  context: UnownedControlContext,
  current: CurrentRun,
  kind: "pause" | "cancel",
  reason: string | undefined,
): Promise<ControlResult | undefined> {
  const { worker } = context
  const { row } = current
  const turn = kind === "pause" ? pauseTurn(row, reason) : cancelTurn(context, current, reason)
  const result = await tryForcedTurn(worker, current, turn)
  if (result === "lost") return undefined
  // A worker has to run the cancellation, or to call the hook.
  if (kind === "cancel") worker.announce(row.id, undefined)
  return result
}

function pauseTurn({ run, runPosition }: InstanceRow, reason: string | undefined): ForcedTurnContent {
  const entry: EntryOf<"paused"> = { type: "paused", ...(reason === undefined ? undefined : { reason }) }
  return { entries: [entry], run, runContinues: true, state: () => ({ status: "paused", run, runPosition }) }
}

/** An instance that has not begun ends at once. Else a worker runs the cancellation, and the grace begins when the worker loads the instance. */
function cancelTurn(context: UnownedControlContext, { row, recorded }: CurrentRun, reason: string | undefined): ForcedTurnContent {
  const { id, run, runPosition, flow } = row
  const request = { type: "cancel.requested", cause: "request", ...(reason === undefined ? undefined : { reason }) } as const
  if (recorded.some(({ entry }) => isAsk(entry))) {
    return {
      entries: [{ ...request, unowned: true }],
      run,
      runContinues: true,
      // The deadline makes an instance claimable that is queued for a slot, so that its grace begins.
      state: (_, at) => ({ status: "running", phase: "cancelling", run, runPosition, dueAt: at, ...deadlineOf(flow, at) }),
    }
  }
  const state = foldOf(recorded)
  state.apply({ position: state.position + 1, run, at: state.at, entry: request })
  const mayHaveHook = hasHook(context, row) !== false
  return {
    entries: [request, cancelledEntry(id, state)],
    run,
    state: (position, at) => ({ status: "cancelled", run, runPosition, endPosition: position, ...(mayHaveHook ? { dueAt: at } : undefined) }),
  }
}

/** Whether a hook is called when the instance is cancelled. Undefined if another process executes the instance: this process cannot know. */
function hasHook({ worker, registry }: UnownedControlContext, { workflow: name, version, queue }: InstanceRow): boolean | undefined {
  const { active, settings } = worker
  const workflow = registry.find(name, version)
  if (!workflow || !registry.executes(workflow, queue) || !(active || settings.execute === "ticks")) return undefined
  return (workflow.options.onCancelled ?? settings.hooks.onCancelled) !== undefined
}
