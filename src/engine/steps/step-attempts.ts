import type { AskRequest, DoAsk } from "../../core/execution/ask.ts"
import { encodeValue, Payload } from "../../core/values/value-codec.ts"
import { CancelledError, PerdureError } from "../../core/errors.ts"
import { durationMs } from "../../core/time/duration.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import { isTask, type OpenStep } from "../../core/journal/open-step.ts"
import type { EntryOf, Recorded, Release } from "../../core/journal/journal.ts"
import { SmallMap } from "../../core/collections/small-map.ts"
import { isNested, isOfRollback } from "../../core/workflow/step-id.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { NewInstance } from "../../ports/journal-store.ts"
import { logStepFailure } from "../runner/failure-log.ts"
import type { InstanceRunner } from "../runner/instance-runner.ts"
import type { ReleaseQueue } from "../runner/release-queue.ts"
import { NestedSteps } from "./nested-steps.ts"
import { TaskAttempts, type AttemptPolicy } from "../tasks/task-attempts.ts"
import { retryDelay } from "./retry-delay.ts"
import { StepClientTransactions } from "./step-client-transactions.ts"
import { StepTransactions } from "./step-transactions.ts"
import type { RunnerContext } from "../runner/runner-context.ts"
import { StepAttempt, type AttemptFailure, type AttemptOwner, type RetryDecision } from "./step-attempt.ts"
import type { TurnWriter } from "../runner/turn-writer.ts"

/**
 * The attempts of one instance: begins them, records how they end, decides on retries, and answers their nested asks.
 *
 *   begin         records `step.started`. The function runs when that entry is durable, so every attempt is counted before it has an effect.
 *   onEnd         encodes the result at once, and queues the end as an input of the runner's loop
 *   handleEnd     records `step.completed`, or `step.failed`: with `retryAt` if the retry policy allows another attempt
 *   retry         begins the next attempt when `retryAt` has come. The due time is in the journal, so a retry survives a crash.
 *   recover       after a load, begins the open steps again. A step with nested entries is entered again as the same attempt (`reenter`).
 *
 * Three ways to stop: `cancel` and `stop` tell the functions, and their ends still count; `abandon` drops their ends.
 */
export class StepAttempts implements AttemptOwner, AttemptPolicy {
  readonly context: RunnerContext
  readonly identity: NewInstance
  readonly #workflow: AnyWorkflow
  readonly #state: InstanceState
  readonly #writer: TurnWriter
  readonly #releaseQueue: ReleaseQueue
  readonly #runner: InstanceRunner
  readonly #live = new SmallMap<StepAttempt>()
  /** Activities that run here once their `step.started` is durable. They hold room already. */
  readonly #undurable = new Set<StepAttempt>()
  /** Created for the first nested ask: most steps make none. */
  #nested: NestedSteps | undefined
  /** Created for the first activity that runs elsewhere. */
  #tasks: TaskAttempts | undefined
  #transactions: StepTransactions | StepClientTransactions | undefined
  /** A step may not begin, because the tick has used up its budget of attempts. */
  isOutOfBudget = false
  #isClosed = false
  /** The reason that functions get when the instance is rolled back. */
  #stopError: PerdureError | undefined

  constructor(
    context: RunnerContext,
    identity: NewInstance,
    workflow: AnyWorkflow,
    state: InstanceState,
    writer: TurnWriter,
    releaseQueue: ReleaseQueue,
    runner: InstanceRunner,
  ) {
    this.context = context
    this.identity = identity
    this.#workflow = workflow
    this.#state = state
    this.#writer = writer
    this.#releaseQueue = releaseQueue
    this.#runner = runner
  }

  get duplicateSteps(): "number" | "error" {
    return this.#workflow.options.duplicateSteps ?? "number"
  }

  get instance(): string {
    return this.identity.id
  }

  get hasProgressed(): boolean {
    return this.#state.hasProgressed
  }

  submit(request: AskRequest): void {
    this.#runner.submit({ handle: () => this.#nested?.handle(request) })
  }

  abort(id: string): void {
    this.#runner.submit({ handle: () => void this.#runner.record({ type: "ask.aborted", id }) })
  }

  isLive(id: string): boolean {
    return this.#live.has(id)
  }

  recordAsk(request: AskRequest): void {
    this.#runner.recordAsk(request)
  }

  recordPaused(reason: string): void {
    this.#runner.record({ type: "paused", reason })
  }

  get stepsMax(): number {
    return this.context.settings.limits.stepsMax
  }

  isDurable(position: number): boolean {
    return this.#writer.isDurable(position)
  }

  get count(): number {
    return this.#live.size
  }

  /** True: an attempt of the step may be recorded as started. A tick has a budget of attempts. */
  reserveSlot(id: string): boolean {
    if (isNested(id) || this.context.stepSlots?.reserve() !== false) return true
    this.isOutOfBudget = true
    return false
  }

  /** Records that an attempt begins. Its function is called when that entry is durable. */
  begin(request: DoAsk, attempt: number): void {
    const { id, child, transaction, activity } = request
    if (activity && this.tasks.begin(request, attempt)) return
    const started = { type: "step.started", id, attempt } as const
    this.#runner.record(
      child ? { ...started, child: child.link } : transaction ? { ...started, kind: "transaction" } : activity ? { ...started, kind: "activity" } : started,
    )
    const step = this.#state.steps.get(request.id)
    if (!step) return
    const begun = new StepAttempt(this, request, attempt, step)
    if (activity) {
      // Room is taken before the attempt begins, so that the next activity of this turn sees what is left.
      begun.onOver = this.context.activities.take()
      this.#undurable.add(begun)
    }
    this.#writer.whenDurable(begun)
  }

  /** Begins the next attempt of a step whose time to retry has come. */
  retry(id: string): void {
    const step = this.#state.steps.get(id)
    if (!step) return
    const request = this.request(id)
    if (request && !this.reserveSlot(id)) return
    if (request) return this.begin(request, step.attempt + 1)
    step.retryAt = undefined
    this.#nestedSteps().retryWhenAsked(id)
  }

  /** Begins the steps again that were open when the last owner left. */
  recover(): void {
    for (const step of this.#state.steps.values()) {
      if (isNested(step.id) || step.retryAt !== undefined) continue
      const request = this.request(step.id)
      if (!request) continue
      const isInQueue = isTask(step)
      if (isInQueue && this.#isStopped(step)) this.tasks.endTask(step)
      // A cancel or a rollback has given the step up, so its function does not run again.
      if (this.#isStopped(step))
        this.#runner.record({ type: "step.failed", id: step.id, attempt: step.attempt, value: Payload.ofError(this.#stopError ?? this.#cancelled()) })
      else if (isInQueue && !this.tasks.missing.has(step.id)) continue
      else if (this.reserveSlot(step.id)) this.reenter(request, step)
    }
  }

  /** The instance is resumed: nested asks that arrived while it was paused begin now. */
  resume(): void {
    for (const step of this.#state.steps.values()) step.isHeldByPause = false
    this.#nested?.resume()
  }

  /** The instance is rolled back: running functions are told to stop, their nested sleeps and waits reject, and no step is retried. Their ends still count. */
  stop(reason: string): void {
    if (this.#stopError) return
    this.#stopError = new PerdureError("INSTANCE_ENDED", reason)
    for (const attempt of this.#live.values()) attempt.abort(this.#stopError)
    this.#nested?.stop(this.#stopError)
    if (this.#state.hasTasks) this.tasks.giveUp(this.#stopError, (step) => !isOfRollback(step.id))
  }

  /** Abandons all running attempts, but further attempts may begin: those of rollbacks. */
  drop(reason: unknown): void {
    this.abandon(reason)

    this.#nested?.takeDeferred()
    this.#isClosed = false
  }

  /** A cancel: running functions are told to stop, and nested sleeps and waits reject when the cancel is durable. */
  cancel(error: CancelledError): void {
    for (const attempt of this.#live.values()) attempt.abort(error)
    if (this.#state.hasTasks) this.tasks.giveUp(error, (step) => this.#isCancelled(step))
    const deferred = this.#nested?.takeDeferred()
    this.#writer.whenDurable({ afterCommit: () => this.#nested?.cancel(error, deferred) })
  }

  /** Tells all running functions to stop, drops their ends, and begins no further attempt. A reason given as text becomes an error. */
  abandon(reason: unknown): void {
    this.#isClosed = true
    for (const attempt of this.#undurable) attempt.close()
    this.#undurable.clear()
    if (this.#live.size === 0) return
    const error = typeof reason === "string" ? new PerdureError("INSTANCE_ENDED", reason) : reason
    for (const attempt of this.#live.values()) attempt.abandon(error)
    this.#live.clear()
  }

  /** Delivers a nested result when it is durable. */
  settleNested(recorded: Recorded): void {
    const { entry } = recorded
    if ("id" in entry && isNested(entry.id)) this.#writer.whenDurable({ afterCommit: () => this.#nested?.settle(recorded as Recorded<Release>) })
  }

  /** Runs an open step again. A step with nested entries runs as the same attempt, and its nested asks are answered from the journal. */
  reenter(request: DoAsk, step: OpenStep): void {
    if (step.hasNested) this.#writer.whenDurable(new StepAttempt(this, request, step.attempt, step))
    else this.begin(request, step.attempt + 1)
  }

  /** The attempts that are tasks. */
  get tasks(): TaskAttempts {
    this.#tasks ??= new TaskAttempts(this.context, this.identity, this.#state, this.#writer, this.#runner, this)
    return this.#tasks
  }

  beginAgain(step: OpenStep): void {
    const request = this.request(step.id)
    // A step that the code does not ask for any more cannot begin again either.
    if (request === undefined || this.#isStopped(step)) this.recordFailure(step, this.#stopError ?? this.#cancelled(), true)
    else this.begin(request, step.attempt + 1)
  }

  recordFailure(step: OpenStep, error: unknown, isFinal: boolean): void {
    // The retry options of an activity are fields and no function, so the policy answers at once.
    const delayMs = isFinal ? undefined : (retryDelay(this.context, this.#workflow, this.request(step.id), step.failures + 1, error) as number | undefined)
    this.#logFailure(this.#runner.record(this.#failure(step, { error, isFinal, retry: { delayMs } })), this.#isStopped(step))
  }

  /** The open step, as the code has asked for it. */
  request(id: string): DoAsk | undefined {
    const request = isNested(id) ? this.#nested?.request(id) : this.#releaseQueue.execution?.asks.request(id)
    return request?.kind === "do" ? request : undefined
  }

  #isCancelled(step: OpenStep): boolean {
    const { cancel } = this.#state
    return cancel !== undefined && step.position < cancel.position
  }

  /** Why a nested sleep or wait is refused during a rollback; undefined: it is allowed. */
  stoppedFor({ kind, id }: AskRequest): PerdureError | undefined {
    return kind === "do" || isOfRollback(id) ? undefined : this.#stopError
  }

  /** The step may not be retried. The rollback of a step always may. */
  #isStopped(step: OpenStep): boolean {
    return this.#isCancelled(step) || (this.#stopError !== undefined && !isOfRollback(step.id))
  }

  #cancelled(): CancelledError {
    return new CancelledError(this.identity.id, this.#state.cancel?.reason)
  }

  onDurable(attempt: StepAttempt): void {
    const { ask, open } = attempt
    this.#undurable.delete(attempt)
    // While the engine closes, attempts may finish, so their nested steps may begin.
    if (this.#isClosed || (this.context.draining && !isNested(ask.id)) || !this.#state.steps.has(ask.id)) return attempt.close()
    this.#live.set(ask.id, attempt)
    // A step that was asked for after the cancel is clean-up, and is not told to stop.
    if (this.#isCancelled(open)) attempt.abort(this.#cancelled())
    attempt.begin()
  }

  nestedAsk(outer: StepAttempt, request: AskRequest): Promise<unknown> {
    // An abandoned attempt gets no answers.
    return this.#live.get(outer.ask.id) === outer ? this.#nestedSteps().ask(outer, request) : new Promise(() => undefined)
  }

  #nestedSteps(): NestedSteps {
    this.#nested ??= new NestedSteps(this.#state, this)
    return this.#nested
  }

  transact(attempt: StepAttempt, fn: (access: unknown) => unknown): Promise<unknown> {
    this.#transactions ??= this.#newTransactions()
    return this.#transactions.run(attempt, fn)
  }

  /** On a database server, the user's function gets a connection of its own. Otherwise it writes through the connection of the store. */
  #newTransactions(): StepTransactions | StepClientTransactions {
    const { context } = this
    const submit = (input: { handle(): void }) => this.#runner.submit(input)
    return context.clientTransactions
      ? new StepClientTransactions(context, context.clientTransactions, this.#writer, submit)
      : new StepTransactions(context, this.#writer, submit)
  }

  /** The transaction of a step has recorded the result itself, so the end of the attempt is dropped. */
  onTransacted(recorded: Recorded): void {
    const { id } = recorded.entry as EntryOf<"step.completed">
    this.#live.get(id)?.close()
    this.#live.delete(id)
    this.settleNested(recorded)
  }

  onEnd(attempt: StepAttempt, ok: boolean, outcome: unknown): void {
    this.#encode(attempt, ok, outcome)
    this.#runner.submit(attempt)
  }

  /** The result is encoded at once, so that later changes to the value by the function have no effect. */
  #encode(attempt: StepAttempt, ok: boolean, outcome: unknown): void {
    if (!ok) return void (attempt.failure = { error: outcome, isFinal: attempt.isFutile })
    try {
      attempt.result = Payload.of(encodeValue(outcome, this.context.settings.resultEncoding), attempt.isSensitive)
    } catch (error) {
      attempt.failure = { error, isFinal: true }
    }
  }

  handleEnd(attempt: StepAttempt): void {
    const { result, failure } = attempt
    const { id } = attempt.ask
    if (this.#live.get(id) !== attempt) return
    const step = this.#state.steps.get(id)
    if (failure && step && this.#awaitsRetryDecision(attempt, step, failure)) return
    this.#live.delete(id)
    if (!step) return
    const isStopped = this.#isStopped(step)
    const failed = attempt.failure
    const recorded = this.#runner.record(failed ? this.#failure(step, failed) : { type: "step.completed", id, value: result ?? Payload.undefined })
    this.#logFailure(recorded, isStopped)
    if (this.#state.steps.has(id)) return
    if (step.hasNested) this.#abandonInside(id)
    this.settleNested(recorded)
  }

  #logFailure({ entry, at }: Recorded, isStopped: boolean): void {
    if (entry.type !== "step.failed") return
    this.#writer.whenDurable({ afterCommit: () => logStepFailure(this.context.host.log, this.identity, entry, { at, isStopped }) })
  }

  /** Asks the policy for the next attempt. True: its answer is a promise, and the attempt comes back when that has settled. */
  #awaitsRetryDecision(attempt: StepAttempt, step: OpenStep, failure: AttemptFailure): boolean {
    if (failure.retry || this.#mayNotRetry(step, failure)) return false
    const decide = (retry: RetryDecision) => void (attempt.failure = { ...failure, retry })
    try {
      const delayMs = retryDelay(this.context, this.#workflow, attempt.ask, step.failures + 1, failure.error)
      if (typeof delayMs !== "object") {
        decide({ delayMs })
        return false
      }
      const decided = delayMs.then(
        (ms) => decide({ delayMs: ms }),
        (error: unknown) => decide({ error }),
      )
      void decided.then(() => this.#runner.submit(attempt))
      return true
    } catch (error) {
      decide({ error })
      return false
    }
  }

  #mayNotRetry(step: OpenStep, { error, isFinal }: AttemptFailure): boolean {
    return isFinal || this.#isStopped(step) || PerdureError.is(error, "DEADLINE_EXCEEDED")
  }

  #failure(step: OpenStep, failure: AttemptFailure): EntryOf<"step.failed"> {
    const { id, attempt, firstAt } = step
    const { retry = {} } = failure
    const options = this.request(id)?.options
    const value = Payload.ofError("error" in retry ? retry.error : failure.error, options?.sensitive)
    const { details } = step
    const base = { type: "step.failed", id, attempt, value } as const
    if (retry.delayMs === undefined || this.#mayNotRetry(step, failure)) return base
    const wantedAt = this.#writer.now + retry.delayMs
    const { workflow, id: instance } = this.identity
    const retryAt = this.context.settings.dueTimes?.({ kind: "retry", workflow, instance, id }, wantedAt) ?? wantedAt
    const deadlineAt = options?.deadline === undefined ? Infinity : firstAt + durationMs(options.deadline)
    return retryAt > deadlineAt ? base : { ...base, retryAt, ...(details === undefined ? undefined : { details }) }
  }

  #abandonInside(id: string): void {
    const inside = `${id}/`
    for (const attempt of this.#live.values()) {
      if (!attempt.ask.id.startsWith(inside)) continue
      this.#live.delete(attempt.ask.id)
      attempt.abandon(new PerdureError("STEP_FAILED", `step "${id}" has ended`))
    }
  }
}
