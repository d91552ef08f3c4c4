import { isAsk, type EntryOf } from "../../core/journal/journal.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import type { ControlResult } from "../../client-api/client-api.ts"
import { cancelledEntry } from "../runner/ending-entry.ts"
import { deadlineOf } from "../flow-control/flow-traits.ts"
import type { WorkflowRegistry } from "../workflow-registry.ts"
import { foldOf, writeSeized, type ForcedTurnContent, type CurrentRun } from "./forced-turn.ts"
import type { Worker } from "../worker/worker.ts"

/** What is needed to control an instance that no worker runs. */
export interface UnownedSite {
  readonly store: Store
  readonly worker: Worker
  readonly registry: WorkflowRegistry
}

/**
 * Pauses or cancels an instance that no worker runs: the caller writes the entry itself, at the next position. A worker that has taken the
 * instance meanwhile either loses its own turn, and loads the instance again, or was first. Then the answer is undefined, and nothing was written.
 */
export async function controlUnowned(
  site: UnownedSite,
  current: CurrentRun,
  kind: "pause" | "cancel",
  reason: string | undefined,
): Promise<ControlResult | undefined> {
  const { worker } = site
  const { row } = current
  const turn = kind === "pause" ? pausing(row, reason) : cancelling(site, current, reason)
  const answer = await writeSeized(worker, current, turn)
  if (answer === "lost") return undefined
  // Its cancellation is to run, or its hook to be called.
  if (kind === "cancel") worker.announce(row.id, undefined)
  return answer
}

function pausing({ run, runPosition }: InstanceRow, reason: string | undefined): ForcedTurnContent {
  const entry: EntryOf<"paused"> = { type: "paused", ...(reason === undefined ? undefined : { reason }) }
  return { entries: [entry], run, goesOn: true, state: () => ({ status: "paused", run, runPosition }) }
}

/** What has not begun is over at once. Else the next worker runs the cancellation, and the time for that begins when the worker loads it. */
function cancelling(site: UnownedSite, { row, recorded }: CurrentRun, reason: string | undefined): ForcedTurnContent {
  const { id, run, runPosition, flow } = row
  const request = { type: "cancel.requested", cause: "request", ...(reason === undefined ? undefined : { reason }) } as const
  if (recorded.some(({ entry }) => isAsk(entry))) {
    return {
      entries: [{ ...request, unowned: true }],
      run,
      goesOn: true,
      // One that stands in line for a slot is loaded without, so that its grace begins.
      state: (_, at) => ({ status: "running", phase: "cancelling", run, runPosition, dueAt: at, ...deadlineOf(flow, at) }),
    }
  }
  const state = foldOf(recorded)
  state.apply({ position: state.position + 1, run, at: state.at, entry: request })
  const mayHaveHook = hasHook(site, row) !== false
  return {
    entries: [request, cancelledEntry(id, state)],
    run,
    state: (position, at) => ({ status: "cancelled", run, runPosition, endPosition: position, ...(mayHaveHook ? { dueAt: at } : undefined) }),
  }
}

/** Whether a hook is to be called when the instance is cancelled. Undefined: another process executes it, and nobody knows here. */
function hasHook({ worker, registry }: UnownedSite, { workflow: name, version, queue }: InstanceRow): boolean | undefined {
  const { active, settings } = worker
  const workflow = registry.find(name, version)
  if (!workflow || !registry.executes(workflow, queue) || !(active || settings.execute === "ticks")) return undefined
  return (workflow.options.onCancelled ?? settings.hooks.onCancelled) !== undefined
}
