import { type BufferedEvents, bufferedSentence } from "../../core/journal/event-type-queue.ts"
import { formatDuration } from "../../core/time/duration.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import { isTerminal, type Status } from "../../core/journal/status.ts"
import type { StepInfo } from "../../core/journal/step-info.ts"
import { defaultQueue } from "../../core/workflow/task-queue.ts"
import { runDeadlineAt } from "../../core/journal/run-deadline.ts"
import type { WorkerLease } from "../../ports/directory.ts"
import type { LimitWait } from "../../ports/flow-control.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import type { Why } from "../../client-api/client-api.ts"
import { growthText, isLong } from "../runner/journal-growth.ts"
import type { TaskFacts } from "./why-tasks.ts"
import { describeEnd, describeQueue, describeSteps, inTime, quotedList, time } from "./why-sentences.ts"

export interface WhyContext {
  readonly now: number
  /** Versions of the instance's workflow that this engine has. */
  readonly versions: readonly string[]
  /** The task queues in which this engine executes the workflow; undefined if all. */
  readonly queues?: readonly string[] | undefined
  /** True if this engine executes instances. */
  readonly isWorker: boolean
  readonly cancelGraceMs: number
  /** True if the step waits because this worker already runs its maximum of concurrent steps. */
  readonly isQueuedForWorker: (step: string) => boolean
  readonly concurrentStepsMax: number
  /** The most steps, sleeps and waits of a run. */
  readonly stepsMax: number
}

/** Facts that the store has besides the journal. */
export interface WhyFacts {
  readonly workers: readonly WorkerLease[]
  /** The limit whose slot the instance is queued for. */
  readonly line?: LimitWait | undefined
  /** Its activities that wait or run in task queues. */
  readonly tasks: TaskFacts
  /** The statuses of some of its open children. */
  readonly children: ReadonlyMap<string, Status>
}

/** An instance with everything that explains why it does not move. */
export interface WhySubject extends WhyContext, WhyFacts {
  readonly row: InstanceRow
  readonly state: InstanceState
  readonly steps: readonly StepInfo[]
  /** Received events that its code has not taken. */
  readonly buffered: readonly BufferedEvents[]
}

/** Says in plain sentences what an instance waits for. The most important sentence comes first. */
export function explain(subject: WhySubject): Why {
  const next = nextMove(subject)
  return { status: subject.row.status, because: reasons(subject), ...(next ? { next } : undefined) }
}

function reasons(subject: WhySubject): readonly string[] {
  const { row, state, line } = subject
  if (isTerminal(row.status)) return describeEnd(row, state)
  const held = row.status === "stalled" ? [stallReason(subject)] : row.status === "paused" ? [pauseReason(subject)] : []
  const phase = phaseReason(subject)
  const seeking = held.length > 0 ? [] : workerReasons(subject)
  const start = line ? [describeQueue(line)] : row.status === "queued" ? startReason(subject) : []
  const waits = row.status === "stalled" ? [] : [...describeSteps(subject), ...handlerReason(subject)]
  const [blocking, remarks] = needsWorker(subject) ? [seeking, []] : [[], seeking]
  const all = [...held, ...blocking, ...phase, ...start, ...waits, ...remarks]
  const reason = all.length > 0 ? all : ["its code is running between steps"]
  return [...reason, ...growth(subject), ...subject.buffered.map((events) => bufferedSentence(events))]
}

function growth({ state: { asked, run }, stepsMax }: WhySubject): readonly string[] {
  return isLong({ asked, stepsMax }) ? [`its run ${run} ${growthText({ asked, stepsMax })}`] : []
}

/** A waiting instance without open waits, children and tasks waits for a handler of its code. */
function handlerReason({ row, state: { waits, children, hasTasks } }: WhySubject): readonly string[] {
  if (row.status !== "waiting" || waits.size > 0 || children.size > 0 || hasTasks) return []
  return ["its code waits for what a handler of its events or updates is to bring"]
}

function stallReason({ row, state: { stalled } }: WhySubject): string {
  const advice = stalled?.code === "JOURNAL_MISMATCH" ? "; or restart it from a step, or terminate it" : ""
  return `it is stalled since ${time(row.updatedAt)}: ${stalled?.message ?? "its journal and its code disagree"}${advice}`
}

function pauseReason({ row, state: { paused } }: WhySubject): string {
  return `it is paused since ${time(paused?.at ?? row.updatedAt)}${remark(paused?.reason)}; resume it`
}

function phaseReason({ row, state, now, cancelGraceMs }: WhySubject): readonly string[] {
  switch (row.phase) {
    case "pausing":
      return [`it is pausing since ${time(state.paused?.at ?? row.updatedAt)}${remark(state.paused?.reason)}: attempts that were running may finish`]
    case "cancelling": {
      const { at = row.updatedAt, graceFrom, reason, cause } = state.cancel ?? {}
      const because = cause === "timeout" ? " (its timeout)" : remark(reason)
      const until =
        graceFrom === undefined ? `for ${formatDuration(cancelGraceMs)} once a worker has loaded it` : `until ${inTime(graceFrom + cancelGraceMs, now)}`
      return [`it is being cancelled since ${time(at)}${because}, and may clean up ${until}`]
    }
    case "rollingBack": {
      const why = state.terminating
        ? ` since it was terminated${remark(state.terminating.reason)}`
        : state.cancel
          ? ` since it was cancelled${remark(state.cancel.reason)}`
          : ""
      return [`it is being rolled back${why}: what it completed is undone before it ends`]
    }
    default:
      return []
  }
}

/** True if this worker cannot run the instance: it lacks the version, or does not serve the task queue. */
function isMissing(subject: WhySubject): boolean {
  const { row, isWorker, versions } = subject
  return row.owner === undefined && isWorker && (!versions.includes(row.version) || isElsewhere(subject))
}

function isElsewhere({ row: { queue = defaultQueue }, queues }: WhySubject): boolean {
  return queues?.includes(queue) === false
}

/** True if the instance does not advance until a worker takes it. */
function needsWorker(subject: WhySubject): boolean {
  const { row, now } = subject
  if (row.owner !== undefined || isMissing(subject)) return true
  return row.status === "running" || (row.dueAt !== undefined && row.dueAt <= now)
}

/** True if every running worker lists its offers, and none of them fits the instance. */
function isUnserved({ row: { workflow, version, queue = defaultQueue }, workers, now }: WhySubject): boolean {
  return workers
    .filter(({ until }) => until > now)
    .every(
      ({ offers }) =>
        offers?.some((offer) => offer.workflow === workflow && offer.version === version && (offer.queues === undefined || offer.queues.includes(queue))) ===
        false,
    )
}

/** Why no worker runs the instance; empty if one does or if none is needed. */
function workerReasons(subject: WhySubject): readonly string[] {
  const { row, now, versions, workers, line } = subject
  if (row.owner !== undefined) return ownerReason(subject, row.owner)
  if (isMissing(subject) && isElsewhere(subject))
    return [`no worker here serves its task queue "${row.queue ?? defaultQueue}" (only ${quotedList(subject.queues ?? [])}); start one that does`]
  if (isMissing(subject)) {
    const known = versions.length === 0 ? "none of this workflow" : quotedList(versions)
    return [`no worker here has version "${row.version}" of workflow "${row.workflow}" (it has ${known})`]
  }
  const since = row.dueAt !== undefined && row.dueAt <= now ? `it is due since ${time(row.dueAt)}, and ` : ""
  if (!workers.some(({ until }) => until > now)) return [`${since}no worker is running; start one`]
  if (isUnserved(subject))
    return [`${since}no running worker serves version "${row.version}" of workflow "${row.workflow}" in task queue "${row.queue ?? defaultQueue}"; start one`]
  return line === undefined && needsWorker(subject) ? [`${since}waits for a worker to take it`.replace(/^waits/, "it waits")] : []
}

function ownerReason({ workers, now }: WhySubject, owner: string): readonly string[] {
  const lease = workers.find(({ worker }) => worker === owner)
  if (lease && lease.until > now) return []
  const ended = lease ? `, whose lease ended at ${time(lease.until)},` : ""
  const others = workers.some(({ worker, until }) => worker !== owner && until > now)
  return [`worker "${owner}"${ended} is gone; ${others ? "another takes it up" : "no other is running, start one"}`]
}

function startReason({ row, now }: WhySubject): readonly string[] {
  if (row.dueAt === undefined || row.dueAt <= now) return []
  const isDebounced = row.flow?.unique?.some(({ kind }) => kind === "debounce") === true
  return [
    `it starts at ${time(row.dueAt)}, ${formatDuration(row.dueAt - now)} from now${isDebounced ? ", or later if it is started again before (debounce)" : ""}`,
  ]
}

function nextMove({ row, state, cancelGraceMs, now, line }: WhySubject): Why["next"] {
  if (isTerminal(row.status)) return state.hook.retryAt === undefined ? undefined : { what: "its hook is called again", at: Math.max(state.hook.retryAt, now) }
  if (row.status === "paused" || row.status === "stalled") return undefined
  if (line) return line.until === undefined ? undefined : { what: "it starts", at: Math.max(line.until, now) }
  if (row.status === "queued") return row.dueAt === undefined ? undefined : { what: "it starts", at: Math.max(row.dueAt, now) }
  const timer = state.nextTimer()
  const what = { sleep: "wakes up", retry: "is tried again", wait: "times out" } as const
  const limit = { what: state.cancel ? "its cancel is forced" : "its timeout cancels it", at: runDeadlineAt(state, cancelGraceMs) }
  const move = timer && timer.dueAt <= limit.at ? { what: `"${timer.id}" ${what[timer.kind]}`, at: timer.dueAt } : limit
  return move.at === Infinity ? undefined : move
}

function remark(reason: string | undefined): string {
  return reason === undefined || reason === "" ? "" : ` (${reason})`
}
