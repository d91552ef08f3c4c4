import type { DoAsk } from "../../core/execution/ask.ts"
import { PerdureError } from "../../core/errors.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import { isTask, type OpenStep } from "../../core/journal/open-step.ts"
import type { ExpiryReason, TaskEndingPayload } from "../../core/journal/task-ending.ts"
import { durationMs } from "../../core/time/duration.ts"
import { defaultQueue } from "../../core/workflow/task-queue.ts"
import type { NewInstance } from "../../ports/journal-store.ts"
import type { NewTask } from "../../ports/task-store.ts"
import type { InstanceRunner } from "../runner/instance-runner.ts"
import type { RunnerContext } from "../runner/runner-context.ts"
import type { TurnWriter } from "../runner/turn-writer.ts"
import { idempotencyKey } from "../../core/workflow/idempotency-key.ts"
import { taskId } from "./task-id.ts"

/** What decides about the further attempts of a step. `StepAttempts` implements it. */
export interface AttemptPolicy {
  /** The open step, as the code has asked for it. */
  request(id: string): DoAsk | undefined
  /** Records the end of an attempt that failed, and whether another attempt follows. */
  recordFailure(step: OpenStep, error: unknown, isFinal: boolean): void
  /** Begins another attempt at once: a process that died does not count as a failure. */
  beginAgain(step: OpenStep): void
}

/** How a task ended, with its error decoded. */
export interface TaskEnd extends Omit<TaskEndingPayload, "error"> {
  readonly thrown?: { readonly error: unknown }
}

/**
 * The attempts of one instance that run in other processes. Each is a task, which the turn that records `step.started` writes. Its end comes as a message,
 * and it counts only if it is the end of the present attempt. The decision about another attempt is made here, where the workflow is.
 */
export class TaskAttempts {
  /** Open steps whose tasks the store does not have: those of a fork, an import, or a store that was restored. */
  missing: ReadonlySet<string> = new Set()
  readonly #context: RunnerContext
  readonly #identity: NewInstance
  readonly #state: InstanceState
  readonly #writer: TurnWriter
  readonly #runner: InstanceRunner
  readonly #policy: AttemptPolicy

  constructor(context: RunnerContext, identity: NewInstance, state: InstanceState, writer: TurnWriter, runner: InstanceRunner, policy: AttemptPolicy) {
    this.#context = context
    this.#identity = identity
    this.#state = state
    this.#writer = writer
    this.#runner = runner
    this.#policy = policy
  }

  /** Begins an attempt as a task. False: the activity runs where the workflow runs. */
  begin({ id, activity, options }: DoAsk, attempt: number): boolean {
    if (activity === undefined) return false
    const queue = activity.queue ?? this.#identity.queue ?? defaultQueue
    if (this.#context.activities.runsInPlace(activity, queue)) return false
    const handedBack = this.#state.steps.get(id)?.handedBack ?? 0
    this.#runner.record({ type: "step.started", id, attempt, kind: "activity", queue, ...(handedBack > 0 && { handedBack }) })
    const step = this.#state.steps.get(id)
    if (!step) return true
    const { draft } = this.#writer
    const { heartbeatMs, startMs } = activity
    const timeoutMs = options?.timeout === undefined ? undefined : durationMs(options.timeout)
    const task: NewTask = {
      id: taskId(this.#identity.incarnation, step),
      step: id,
      attempt,
      activity: activity.name,
      queue,
      key: idempotencyKey((text) => this.#context.host.sha256(text), this.#identity.incarnation, step.run, id),
      input: draft.stored(activity.input),
      ...(step.details === undefined ? undefined : { details: step.details }),
      ...(timeoutMs === undefined ? undefined : { timeoutMs }),
      ...(heartbeatMs === undefined ? undefined : { heartbeatMs }),
      ...(options?.sensitive ? { sensitive: true } : undefined),
      ...(startMs === undefined ? undefined : { startBy: this.#writer.now + startMs }),
      ...(options?.deadline === undefined ? undefined : { closeBy: step.firstAt + durationMs(options.deadline) }),
    }
    draft.addTask(task)
    return true
  }

  /** Whether the message is the end of the step's present attempt. */
  awaits(step: string, task: string): boolean {
    const open = this.#state.steps.get(step)
    return open !== undefined && isTask(open) && taskId(this.#identity.incarnation, open) === task
  }

  /** Decodes the end of a task. */
  read({ error, ...end }: TaskEndingPayload): TaskEnd {
    return error === undefined ? end : { ...end, thrown: { error: this.#writer.payloadOf(error, undefined).decode() } }
  }

  /** Records how the present attempt has ended. */
  handleEnd(id: string, { value, thrown: failed, final, expired, details }: TaskEnd): void {
    const step = this.#state.steps.get(id)
    if (!step) return
    if (expired === undefined && failed === undefined) {
      const isSensitive = this.#policy.request(id)?.options?.sensitive
      this.#runner.record({ type: "step.completed", id, value: this.#writer.payloadOf(value ?? "", isSensitive) })
      return
    }
    step.details = details ?? step.details
    if (expired === "handedBack") {
      step.handedBack++
      return this.#policy.beginAgain(step)
    }
    if (expired === "lost" && !this.#isLostTooOften(step)) return this.#policy.beginAgain(step)
    const thrown = expired === undefined ? failed?.error : this.#expiry(step, expired)
    this.#policy.recordFailure(step, thrown, final === true || (expired !== undefined && expired !== "attempt"))
  }

  /** The instance does not wait for these attempts any more: the steps fail, and the processes that run them are told to stop. */
  giveUp(error: unknown, isGivenUp: (step: OpenStep) => boolean): void {
    for (const step of this.#state.steps.values()) {
      if (!isTask(step) || !isGivenUp(step)) continue
      this.endTask(step)
      this.#policy.recordFailure(step, error, true)
    }
  }

  /** Ends the task of the step, with the next turn. */
  endTask(step: OpenStep): void {
    this.#writer.draft.endTask(taskId(this.#identity.incarnation, step))
  }

  /** Ends all tasks of the instance, with the next turn. */
  endAll(): void {
    if (this.#state.hasTasks) this.#writer.draft.endAllTasks()
  }

  #isLostTooOften({ attempt, failures, handedBack }: OpenStep): boolean {
    return attempt - failures - handedBack > this.#context.settings.recoveriesMax
  }

  #expiry({ id, attempt, queue = "" }: OpenStep, reason: ExpiryReason): PerdureError {
    const details = { step: id, queue, attempt }
    switch (reason) {
      case "attempt":
        return new PerdureError("STEP_TIMEOUT", `activity "${id}" took longer than its timeout`, { details })
      case "close":
        return new PerdureError("DEADLINE_EXCEEDED", `activity "${id}" passed its scheduleToCloseTimeout`, { details })
      case "start":
        return new PerdureError("START_TIMEOUT", `no worker of task queue "${queue}" took activity "${id}" up in time; start one that has it`, { details })
      case "lost":
        return new PerdureError("WORKER_LOST", `activity "${id}" lost its worker ${attempt} times; find out what ends it, or raise heartbeatTimeout`, {
          details,
        })
    }
  }
}
