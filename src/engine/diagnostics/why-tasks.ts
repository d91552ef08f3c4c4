import { formatDuration } from "../../core/time/duration.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import { isTask } from "../../core/journal/open-step.ts"
import type { StepInfo } from "../../core/journal/step-info.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import type { QueueDepth, TaskRow, TaskStore, TaskWorkerInfo } from "../../ports/task-store.ts"
import { taskId } from "../tasks/task-id.ts"

/** The tasks of the open activities of an instance, and what is known about their queues. */
export interface TaskFacts {
  /** By the id of the step. Undefined: the task has ended, and the instance has not recorded its end yet. */
  readonly byStep: ReadonlyMap<string, TaskRow | undefined>
  readonly workers: readonly TaskWorkerInfo[]
  readonly depths: readonly QueueDepth[]
}

const none: TaskFacts = { byStep: new Map(), workers: [], depths: [] }

type TaskReader = Pick<TaskStore, "find" | "workers" | "depths">

export async function readTasks(tasks: TaskReader | undefined, { incarnation }: InstanceRow, { steps }: InstanceState): Promise<TaskFacts> {
  const ids = new Map([...steps.values()].filter(isTask).map((step) => [taskId(incarnation, step), step.id]))
  if (tasks === undefined || ids.size === 0) return none
  const [found, workers, depths] = await Promise.all([tasks.find([...ids.keys()]), tasks.workers(), tasks.depths()])
  const byId = new Map(found.map((task) => [task.id, task]))
  return { byStep: new Map([...ids].map(([id, step]) => [step, byId.get(id)])), workers, depths }
}

/** Where an activity waits or runs. Undefined: it is no task. */
export function describeTask({ id, queue = "" }: StepInfo, facts: TaskFacts, now: number): string | undefined {
  if (!facts.byStep.has(id)) return undefined
  const task = facts.byStep.get(id)
  if (task === undefined) return `activity "${id}" has ended, and its workflow takes the end up`
  const { claim, attempt } = task
  if (claim === undefined) return `activity "${id}" waits on queue "${queue}", ${waitingFor(task, facts, now)}`
  const which = attempt === 1 ? "" : `, attempt ${attempt}`
  const beat = claim.heartbeatAt > claim.claimedAt ? `last heartbeat ${ago(claim.heartbeatAt, now)}` : `begun ${ago(claim.claimedAt, now)}`
  return `activity "${id}" runs on ${claim.worker}${which}, ${beat}`
}

function waitingFor({ activity, queue, createdAt, startBy }: TaskRow, { workers, depths }: TaskFacts, now: number): string {
  const serving = workers.filter(({ queues }) => queues === undefined || queues.includes(queue))
  const until = startBy === undefined ? "" : `; it fails in ${formatDuration(Math.max(0, startBy - now))} if no worker takes it`
  if (serving.length === 0) return `which nobody serves${until}`
  if (!serving.some(({ activities }) => activities.includes(activity))) return `whose workers do not have it; start one that has activity "${activity}"${until}`
  const others = (depths.find((depth) => depth.queue === queue)?.waiting ?? 1) - 1
  return `${others > 0 ? `where ${others} more wait, ` : ""}for ${formatDuration(Math.max(0, now - createdAt))}${until}`
}

function ago(at: number, now: number): string {
  return `${formatDuration(Math.max(0, now - at))} ago`
}
