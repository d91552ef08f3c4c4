import { bufferedEvents } from "../../core/journal/event-type-queue.ts"
import { InstanceState } from "../../core/journal/instance-state.ts"
import type { Status } from "../../core/journal/status.ts"
import { stepsOf, type StepInfo } from "../../core/journal/step-info.ts"
import type { Directory } from "../../ports/directory.ts"
import type { Why } from "../../client-api/client-api.ts"
import type { EngineCore } from "../engine-core.ts"
import { existingRow } from "../instances/instance-lookup.ts"
import { loadRun } from "../runner/run-loader.ts"
import { readTasks } from "./why-tasks.ts"
import { explain } from "./why.ts"

const childrenMax = 10

/** Reads everything that explains why an instance does not move. */
export async function readWhy({ components, role }: EngineCore, id: string): Promise<Why> {
  const { registry, host, settings, worker, store } = components
  const row = await existingRow(store, id)
  const { recorded } = await loadRun(store.journal, row)
  const state = new InstanceState()
  for (const item of recorded) state.apply(item)
  const steps = stepsOf(recorded)
  return explain({
    row,
    state,
    steps,
    buffered: bufferedEvents(recorded),
    now: host.now(),
    versions: registry.versions(row.workflow),
    queues: registry.queuesOf(row.workflow),
    isWorker: role === "worker",
    cancelGraceMs: settings.cancelGraceMs,
    isQueuedForWorker: (step) => worker.stepSlots?.isWaitingToBegin(id, step) === true,
    concurrentStepsMax: settings.concurrentStepsMax,
    stepsMax: settings.limits.stepsMax,
    line: row.slots === "queuedForSlot" ? await store.flow.waitOf(id) : undefined,
    workers: await store.directory.workers(),
    tasks: await readTasks(store.tasks ?? store.sentTasks, row, state),
    children: await openChildren(store.directory, steps),
  })
}

/** The statuses of a few open children. The statuses of many children would explain little. */
async function openChildren(directory: Directory, steps: readonly StepInfo[]): Promise<ReadonlyMap<string, Status>> {
  const found = new Map<string, Status>()
  for (const { type, status, instance } of steps) {
    if (found.size === childrenMax) break
    if (type !== "child" || status !== "waiting" || instance === undefined) continue
    const child = await directory.get(instance)
    if (child) found.set(instance, child.status)
  }
  return found
}
