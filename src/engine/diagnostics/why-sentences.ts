import { formatDuration } from "../../core/time/duration.ts"
import { messageOf } from "../../core/values/error-text.ts"
import { isHidden } from "../../core/values/redaction.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { StepInfo } from "../../core/journal/step-info.ts"
import type { LimitWait } from "../../ports/flow-control.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import { describeTask } from "./why-tasks.ts"
import type { WhySubject } from "./why.ts"

/** How the instance ended, and whether its hook is still to be called. */
export function describeEnd({ status, updatedAt }: InstanceRow, { ended, hook }: InstanceState): readonly string[] {
  const entry = ended?.entry
  const why = entry?.type === "run.failed" ? message(entry.value.shown()) : entry && "reason" in entry ? entry.reason : undefined
  const over = `it is over: ${status} at ${time(updatedAt)}${why === undefined || why === "" ? "" : ` (${why})`}`
  return hook.retryAt === undefined ? [over] : [over, `its hook failed (attempt ${hook.failures}) and is called again at ${time(hook.retryAt)}`]
}

/** Which slot the instance is queued for, which instances hold slots, and how many are before it. */
export function describeQueue({ use, max, perMs, holders, held, ahead, until }: LimitWait): string {
  const key = use.isKeyed ? `, key ${JSON.stringify(use.key.slice(`${use.workflow}/${use.name}/`.length))}` : ""
  const line = `; ${ahead === 0 ? "it is the next" : `${ahead} before it`}`
  if (use.kind === "rate") {
    const when = until === undefined ? "" : `, at ${time(until)}`
    return `it waits to be started: workflow "${use.workflow}"${key} starts at most ${max} in ${formatDuration(perMs ?? 0)}${line}${when}`
  }
  const others = held > holders.length ? ` and ${held - holders.length} more` : ""
  const taken = held === 0 ? "lets nobody in" : `is taken by ${quotedList(holders)}${others}`
  return `it waits for a slot: the limit of ${max} at a time of workflow "${use.workflow}"${key} ${taken}${line}`
}

/** The open steps of the instance, then the updates that have no answer yet. */
export function describeSteps(subject: WhySubject): readonly string[] {
  const { steps, state } = subject
  const open = steps.filter(({ status }) => status in ranks)
  const rank = ({ id, status, type }: StepInfo) => {
    // A step with open nested steps explains less than the nested steps.
    if (open.some((other) => other.id.startsWith(`${id}/`))) return 9
    return type === "child" ? ranks.retrying : ranks[status as keyof typeof ranks]
  }
  const sentences = open.toSorted((a, b) => rank(a) - rank(b)).map((step) => describeStep(step, subject))
  const updates = state.updates.values().map((name) => `update "${name}" is accepted and not answered yet`)
  return [...sentences, ...updates]
}

const ranks = { running: 0, retrying: 1, waiting: 2, sleeping: 3 } as const

function describeStep(step: StepInfo, subject: WhySubject): string {
  const { row, now, isQueuedForWorker, concurrentStepsMax, children, tasks } = subject
  const task = describeTask(step, tasks, now)
  if (task !== undefined) return task
  const what = step.type === "rollback" || step.type === "transaction" || step.type === "activity" ? step.type : "step"
  const until = step.wakeAt === undefined ? "" : ` until ${inTime(step.wakeAt, now)}`
  switch (step.status) {
    case "running":
      if (step.type === "child") return `child "${step.instance}" is being started, since ${time(step.startedAt)}`
      if (isQueuedForWorker(step.id)) return `${what} "${step.id}" waits for its turn: the worker runs at most ${concurrentStepsMax} steps at a time`
      if (row.owner === undefined) return `${what} "${step.id}" was under way, attempt ${step.attempts}; it is tried again when it goes on`
      return `${what} "${step.id}" is running, attempt ${step.attempts}, since ${time(step.startedAt)}${holder(subject, row.owner)}`
    case "retrying":
      return `${what} "${step.id}" failed (attempt ${step.attempts}: ${message(step.error)}) and waits${until} to try again`
    case "sleeping":
      return `sleep "${step.id}" lasts${until}`
    default: {
      if (step.type !== "child") return `${waitReason(step)} since ${time(step.startedAt)}${step.wakeAt === undefined ? "" : `, at most${until}`}`
      const status = children.get(step.instance ?? "")
      return `child "${step.instance}" is not over, since ${time(step.startedAt)}${status === undefined ? "" : `; it is ${status}`}`
    }
  }
}

/** The worker that owns the instance, and the end of its lease. */
function holder({ workers, now }: WhySubject, owner: string): string {
  const lease = workers.find(({ worker }) => worker === owner)
  return lease === undefined || lease.until <= now ? "" : `, on worker "${owner}", whose lease lasts until ${time(lease.until)}`
}

export function inTime(at: number, now: number): string {
  return `${time(at)}, ${formatDuration(Math.max(0, at - now))} from now`
}

export function time(at: number): string {
  return new Date(at).toISOString()
}

export function quotedList(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ")
}

function message(error: unknown): string {
  if (isHidden(error)) return `[${error.$perdure}]`
  return messageOf(error)
}

function waitReason({ id, type, event }: StepInfo): string {
  return type === "condition" ? `condition "${id}" does not hold,` : `wait "${id}" is for event "${event}"`
}
