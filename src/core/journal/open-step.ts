import type { EntryOf, Recorded } from "./journal.ts"

export interface OpenStep {
  readonly id: string
  /** The run that asked for the step first. A restarted run may have kept the step. */
  readonly run: number
  /** The position of the step's first `step.started`. */
  readonly position: number
  /** The time of the step's first `step.started`. */
  readonly firstAt: number
  attempt: number
  /** How many attempts have ended in an error. An attempt that a crash interrupted does not count. */
  failures: number
  /** When the next attempt starts. Undefined: an attempt is running. */
  retryAt: number | undefined
  /** The running attempt is a task in this task queue. Undefined: it runs where the workflow runs. */
  queue: string | undefined
  /** How many attempts were handed back by processes that closed. */
  handedBack: number
  /** What the last heartbeat of a failed attempt reported, as it is stored. */
  details: string | undefined
  hasNested: boolean
  /** The step's function asked for a step inside it while the instance was paused, and waits for the resume. The journal does not contain this. */
  isHeldByPause: boolean
}

/** The step as its first `step.started` opens it. */
export function openStepOf({ entry: { id, attempt, queue }, run, position, at }: Recorded<EntryOf<"step.started">>): OpenStep {
  return {
    id,
    run,
    position,
    firstAt: at,
    attempt,
    failures: 0,
    retryAt: undefined,
    queue,
    handedBack: 0,
    details: undefined,
    hasNested: false,
    isHeldByPause: false,
  }
}

/** Whether the attempt of the step is a task: it waits in a task queue, or runs in a process that has claimed it. */
export function isTask({ queue, retryAt }: OpenStep): boolean {
  return queue !== undefined && retryAt === undefined
}
