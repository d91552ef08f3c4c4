import type { AskRequest, DoAsk } from "../../core/execution/ask.ts"
import { encodeValue, Payload } from "../../core/values/value-codec.ts"
import { CancelledError, PerdureError } from "../../core/errors.ts"
import { durationMs } from "../../core/time/duration.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { OpenStep } from "../../core/journal/open-operations.ts"
import type { EntryOf, Recorded, Release } from "../../core/journal/journal.ts"
import { mergeRetry, nextRetryMs } from "../../core/workflow/retry-policy.ts"
import { SmallMap } from "../../core/collections/small-map.ts"
import { isNested, isOfRollback } from "../../core/workflow/step-id.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { NewInstance } from "../../ports/journal-store.ts"
import { logStepFailure } from "../runner/failure-log.ts"
import type { InstanceRunner } from "../runner/instance-runner.ts"
import type { ReleaseQueue } from "../runner/release-queue.ts"
import { NestedSteps } from "./nested-steps.ts"
import { StepClientTransactions } from "./step-client-transactions.ts"
import { StepTransactions } from "./step-transactions.ts"
import type { RunnerContext } from "../runner/runner-context.ts"
import { StepAttempt, type AttemptFailure, type AttemptOwner, type RetryDecision } from "./step-attempt.ts"
import type { TurnWriter } from "../runner/turn-writer.ts"

/** The live attempts of one instance: begins them, records how they end, decides on retries, serves their nested asks. */
export class StepAttempts implements AttemptOwner {
  readonly context: RunnerContext
  readonly identity: NewInstance
  readonly #workflow: AnyWorkflow
  readonly #state: InstanceState
  readonly #writer: TurnWriter
  readonly #releaseQueue: ReleaseQueue
  readonly #runner: InstanceRunner
  readonly #live = new SmallMap<StepAttempt>()
  /** Made for the first: most steps have none inside them. */
  #nested: NestedSteps | undefined
  #transactions: StepTransactions | StepClientTransactions | undefined
  #isClosed = false
  /** What functions are told that are to stop. */
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

  /** A step found no place that may not be recorded as started without one. */
  isOutOfBudget = false

  /** Whether an attempt of the step may be recorded as started: in a tick, only so many may. */
  reserveSlot(id: string): boolean {
    if (isNested(id) || this.context.stepSlots?.reserve() !== false) return true
    this.isOutOfBudget = true
    return false
  }

  /** Records that an attempt begins; its function is called when that is durable. */
  begin(request: DoAsk, attempt: number): void {
    const { id, child, transaction } = request
    const started = { type: "step.started", id, attempt } as const
    this.#runner.record(child ? { ...started, child: child.link } : transaction ? { ...started, kind: "transaction" } : started)
    const step = this.#state.steps.get(request.id)
    if (step) this.#writer.whenDurable(new StepAttempt(this, request, attempt, step))
  }

  /** Begins the next attempt of a step whose time to retry has come. */
  retry(id: string): void {
    const step = this.#state.steps.get(id)
    if (!step) return
    const request = this.#request(id)
    if (request && !this.reserveSlot(id)) return
    if (request) return this.begin(request, step.attempt + 1)
    step.retryAt = undefined
    this.#nestedSteps().retryWhenAsked(id)
  }

  /** Begins again what was under way when the last owner went. */
  recover(): void {
    for (const step of this.#state.steps.values()) {
      if (isNested(step.id) || step.retryAt !== undefined) continue
      const request = this.#request(step.id)
      if (!request) continue
      // The code gets nothing of it: there is no point in doing it again.
      if (this.#isStopped(step))
        this.#runner.record({ type: "step.failed", id: step.id, attempt: step.attempt, value: Payload.ofError(this.#stopError ?? this.#cancelled()) })
      else if (this.reserveSlot(step.id)) this.reenter(request, step)
    }
  }

  /** What functions asked for while paused begins now. */
  resume(): void {
    for (const step of this.#state.steps.values()) step.isHeldByPause = false
    this.#nested?.resume()
  }

  /** Running functions are told to stop, what they wait for rejects, and none is tried again; but how they end counts. */
  stop(reason: string): void {
    if (this.#stopError) return
    this.#stopError = new PerdureError("INSTANCE_ENDED", reason)
    for (const attempt of this.#live.values()) attempt.abort(this.#stopError)
    this.#nested?.stop(this.#stopError)
  }

  /** Whatever runs is told to stop, and how it ends is not looked at; but others may begin. */
  drop(reason: unknown): void {
    this.abandon(reason)
    this.#nested?.takeDeferred()
    this.#isClosed = false
  }

  /** A cancel: running functions are told, and what nested steps wait for rejects. */
  cancel(error: CancelledError): void {
    for (const attempt of this.#live.values()) attempt.abort(error)
    const deferred = this.#nested?.takeDeferred()
    this.#writer.whenDurable({ afterCommit: () => this.#nested?.cancel(error, deferred) })
  }

  /** Whatever still runs is told to stop, and how it ends is not looked at. A reason in words becomes an error where one is needed. */
  abandon(reason: unknown): void {
    this.#isClosed = true
    if (this.#live.size === 0) return
    const error = typeof reason === "string" ? new PerdureError("INSTANCE_ENDED", reason) : reason
    for (const attempt of this.#live.values()) attempt.abandon(error)
    this.#live.clear()
  }

  /** A nested result goes to its asker when it is durable. */
  settleNested(recorded: Recorded): void {
    const { entry } = recorded
    if ("id" in entry && isNested(entry.id)) this.#writer.whenDurable({ afterCommit: () => this.#nested?.settle(recorded as Recorded<Release>) })
  }

  /** An outer step is entered again as the same attempt: its nested steps answer from the journal. */
  reenter(request: DoAsk, step: OpenStep): void {
    if (step.hasNested) this.#writer.whenDurable(new StepAttempt(this, request, step.attempt, step))
    else this.begin(request, step.attempt + 1)
  }

  #request(id: string): DoAsk | undefined {
    const request = isNested(id) ? this.#nested?.request(id) : this.#releaseQueue.execution?.asks.request(id)
    return request?.kind === "do" ? request : undefined
  }

  #isCancelled(step: OpenStep): boolean {
    const { cancel } = this.#state
    return cancel !== undefined && step.position < cancel.position
  }

  /** Why a function that is to stop gets no more sleeps and waits. */
  stoppedFor({ kind, id }: AskRequest): PerdureError | undefined {
    return kind === "do" || isOfRollback(id) ? undefined : this.#stopError
  }

  /** It may not be tried again. What undoes a step always may. */
  #isStopped(step: OpenStep): boolean {
    return this.#isCancelled(step) || (this.#stopError !== undefined && !isOfRollback(step.id))
  }

  #cancelled(): CancelledError {
    return new CancelledError(this.identity.id, this.#state.cancel?.reason)
  }

  onDurable(attempt: StepAttempt): void {
    const { ask, open } = attempt
    // Draining lets attempts finish, and so what is inside them begin.
    if (this.#isClosed || (this.context.draining && !isNested(ask.id)) || !this.#state.steps.has(ask.id)) return
    this.#live.set(ask.id, attempt)
    // A step asked for after a cancel is clean-up: it is not told to stop.
    if (this.#isCancelled(open)) attempt.abort(this.#cancelled())
    attempt.begin()
  }

  nestedAsk(outer: StepAttempt, request: AskRequest): Promise<unknown> {
    // An attempt that the instance no longer waits for gets no answers.
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

  /** On a store that is a server, the user's function gets a connection of its own; else it writes through the connection of the store. */
  #newTransactions(): StepTransactions | StepClientTransactions {
    const { context } = this
    const submit = (input: { handle(): void }) => this.#runner.submit(input)
    return context.clientTransactions
      ? new StepClientTransactions(context, context.clientTransactions, this.#writer, submit)
      : new StepTransactions(context, this.#writer, submit)
  }

  /** A transaction has recorded its result itself: what else becomes of the attempt is not looked at. */
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

  /** At once, so that nothing that the function does to the value later is seen. */
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
    const { host, settings } = this.context
    const decide = (retry: RetryDecision) => void (attempt.failure = { ...failure, retry })
    try {
      const policy = mergeRetry(settings.retry, this.#workflow.options.retry, attempt.ask.options?.retry)
      const random = () => (host.randomBytes(1)[0] ?? 0) / 256
      const delayMs = nextRetryMs(policy, { failures: step.failures + 1, error: failure.error, random })
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
    const options = this.#request(id)?.options
    const value = Payload.ofError("error" in retry ? retry.error : failure.error, options?.sensitive)
    const base = { type: "step.failed", id, attempt, value } as const
    if (retry.delayMs === undefined || this.#mayNotRetry(step, failure)) return base
    const retryAt = this.#writer.now + retry.delayMs
    const deadlineAt = options?.deadline === undefined ? Infinity : firstAt + durationMs(options.deadline)
    return retryAt > deadlineAt ? base : { ...base, retryAt }
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
