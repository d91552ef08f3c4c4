import { Annotations } from "./annotations.ts"
import type { AskRequest } from "./ask.ts"
import { Cancellation, type CancelRequest } from "./cancellation.ts"
import { encodeValue, Payload } from "../values/value-codec.ts"
import type { InstanceInfo, WorkflowLog } from "../workflow/context.ts"
import { firstSettledCondition, type ConditionResult } from "./condition.ts"
import { TerminatedError, tooManySteps } from "../errors.ts"
import { EventHandlers } from "./event-handlers.ts"
import type { ExecutionEnvironment } from "./execution-environment.ts"
import { Children } from "./child-handles.ts"
import type { ReceivedEntry } from "../journal/event-buffer.ts"
import type { EntryOf, Note, Recorded, Release } from "../journal/journal.ts"
import { OpenAsks, type OpenAsk } from "./open-asks.ts"
import { storable, type Outcome } from "./run-outcome.ts"
import { QueryUpdateHandlers } from "./query-update-handlers.ts"
import { ReadOnlyGuard } from "./read-only-guard.ts"
import { isUndoable, RollbackStack } from "./rollback-stack.ts"
import { startOf } from "../journal/run-history.ts"
import { settle, type SettlingEntry } from "./ask-settlement.ts"
import { validate } from "../workflow/standard-schema.ts"
import { callAsPromise } from "./promise-call.ts"
import { WorkflowContext, type ContextSource } from "./workflow-context.ts"

/**
 * Runs the code of one workflow run against its journal. The driver (an `InstanceRunner`, or a read-only replay) does this in a loop: it calls `release`
 * with one recorded entry, which settles at most one promise; it lets a macrotask pass; it records the new asks (`asks`), the `notes` and the `outcome`.
 * Live execution and replay are the same loop. A workflow that waits holds a pending promise; nothing is thrown to suspend it.
 *
 *   running ──code returns or throws──► halted ──rollbacks are due──► unwinding ──► outcome
 *      │ │                                 └──────no rollbacks──────────────────► outcome
 *      │ └──continueAsNew──► outcome with `continues`
 *      └──terminate.requested──► unwinding ──► outcome
 */
export class Execution implements ContextSource {
  readonly asks = new OpenAsks()
  /** Entries that the driver has to record and that settle nothing: asks that the code gave up, patches, annotations, results of updates. */
  notes: Note[] = noNotes
  outcome: Outcome | undefined = undefined
  /** Log lines of workflow code are silent while this is set. */
  replaying = false
  /** The number of recorded asks that the code has not repeated yet. */
  asksAhead = 0
  /** The time of the entry that was released last. */
  now = 0
  lastAsked: string | undefined = undefined
  /** The code has ended, and rollbacks of its completed steps run. */
  isUnwinding = false
  /** The code has registered handlers since the driver last looked. Buffered events may match them. */
  hasNewHandlers = false

  readonly #environment: ExecutionEnvironment
  /** Created for a cancel, or when the code first reads `ctx.signal`: most runs see neither. */
  #cancellation: Cancellation | undefined = undefined
  #asked = 0
  #rollbacks: RollbackStack | undefined = undefined
  #terminated: TerminatedError | undefined = undefined
  #handlers: EventHandlers | undefined = undefined
  #queryUpdateHandlers: QueryUpdateHandlers | undefined = undefined
  #children: Children | undefined = undefined
  #patches: Map<string, boolean> | undefined = undefined
  #annotations: Annotations | undefined = undefined
  #start: EntryOf<"run.started"> | undefined = undefined
  /** The instance with a higher attempt number, once a worker that ran it has crashed. */
  #info: InstanceInfo | undefined = undefined
  /** True: the code has ended, was terminated, or continues as new. Its own promises settle no more. */
  #halted = false
  #readOnlyGuard: ReadOnlyGuard | undefined = undefined

  constructor(environment: ExecutionEnvironment) {
    this.#environment = environment
    if (environment.workflow.options.rollbackPolicy?.of === "started") this.asks.onStepStarted = (ask) => this.#noteUndoable(ask)
  }

  /** Whether the code has ended: none of its own promises settle any more. */
  get isHalted(): boolean {
    return this.#halted
  }

  get hasOpenAsks(): boolean {
    return this.asks.size > 0 || this.#children?.isAwaited === true
  }

  /** The first condition that the code waits for and that holds now, or whose predicate throws. */
  evaluateConditions(): ConditionResult | undefined {
    return firstSettledCondition(this.asks.conditions(), (what, predicate) => this.readOnly(what, predicate))
  }

  /** The code has no open ask, but has handlers: an event or an update may run one of them, which may settle a promise that the code awaits. */
  get onlyHandlersPending(): boolean {
    return (this.#handlers?.areOpen === true || this.#queryUpdateHandlers?.areOpen === true) && !this.hasOpenAsks && !this.#halted
  }

  /** The driver has nothing to record for the code. */
  get isQuiet(): boolean {
    return !this.outcome && this.asks.fresh.size === 0 && this.notes.length === 0 && !this.hasNewHandlers
  }

  takeNotes(): readonly Note[] {
    const { notes } = this
    this.notes = noNotes
    return notes
  }

  /** The journal contains the entry `ask.aborted` for this ask, so the code's note of it is dropped. */
  recordedAborted(id: string): void {
    if (this.notes.length > 0) this.notes = this.notes.filter((note) => note.type !== "ask.aborted" || note.id !== id)
  }

  /** The journal contains this patch, so `patched` answers true again. */
  recordedPatch(patch: string): void {
    this.#patches ??= new Map()
    this.#patches.set(patch, true)
  }

  /** Releases one entry to the code. `received` is the event that a completed wait or a handler receives. */
  release({ entry, at, position }: Recorded<Release>, received?: ReceivedEntry): void {
    this.now = at
    switch (entry.type) {
      case "run.started":
        // The entry of a delayed start was written long before the run begins.
        this.now = startOf({ at, entry })
        this.#start = entry
        this.#annotations?.begin(entry)
        return this.#begin(entry.value.decode())
      case "cancel.requested":
        return this.#cancel({ position, reason: entry.reason })
      case "terminate.requested":
        return this.#terminate(entry.reason)
      case "child.ended":
        return this.#halted ? undefined : this.children.ended(entry)
      case "event.handled":
        return this.#halted ? undefined : this.#call(() => this.handlers.event(entry.event, received?.entry.value.decode()))
      case "update.accepted":
        return this.#halted ? undefined : this.queryUpdateHandlers.update(entry)
      default:
        return this.#settle(entry, received)
    }
  }

  #begin(input: unknown): void {
    const context = new WorkflowContext(this, this.#environment.workflow.options.duplicateSteps ?? "number", this.#environment.limits)
    this.#environment.enter(() => this.#follow(callAsPromise(() => this.#environment.workflow.run(context, input))))
  }

  #follow(running: Promise<unknown>): void {
    running.then(
      (value) => this.#finish({ ok: true, value }),
      (error: unknown) => this.#finish({ ok: false, error }),
    )
  }

  /** Runs an event handler. An error that it throws fails the run. */
  #call(run: () => unknown): void {
    this.#environment.enter(() => {
      callAsPromise(run).catch((error: unknown) => this.#finish({ ok: false, error }))
    })
  }

  /** The code has ended. Rollbacks run before the outcome is set, if the run failed or was cancelled. */
  #finish(ended: Outcome): void {
    if (this.#halted) return
    this.#halted = true
    const outcome = this.#hasUndoable ? storable(ended, this.#environment.limits.payloadBytesMax) : ended
    if (this.#hasUndoable && (!outcome.ok || this.#isCancelled)) this.#unwind(outcome)
    else this.#end(outcome)
  }

  /** Whether a step with a rollback has completed, or is running and may complete. */
  get #hasUndoable(): boolean {
    return (this.#rollbacks?.size ?? 0) > 0 || this.asks.hasUndoable
  }

  #unwind(outcome: Outcome): void {
    const rollbacks = this.#rollbackStack
    const error = outcome.ok ? (this.#terminated ?? this.#cancellation?.error) : outcome.error
    const { running, aborted } = this.asks.giveUpAllButRunning()
    for (const id of aborted) this.note({ type: "ask.aborted", id })
    this.isUnwinding = true
    this.#environment.onActivity()
    this.#environment.enter(() => {
      // A step that is still running may complete, and then needs its rollback too.
      Promise.all(running)
        .then(() => rollbacks.unwind((request) => this.#put(request), error))
        .then(
          (failed) => this.#end(failed.length === 0 ? outcome : { ...outcome, notRolledBack: failed }),
          (error: unknown) => this.#end({ ok: false, error }),
        )
    })
  }

  #end(outcome: Outcome): void {
    this.outcome ??= outcome
    this.#environment.onActivity()
  }

  get #isCancelled(): boolean {
    return this.#cancellation?.isRequested === true
  }

  #cancel(request: CancelRequest): void {
    this.#cancellation ??= new Cancellation(this.#environment.info.id)
    this.#cancellation.request(request, this.asks, this.#children)
    // The code has ended, but its outcome is not recorded yet: the run is now cancelled, so its rollbacks run.
    if (this.outcome && !this.isUnwinding && this.#hasUndoable) this.#undo()
  }

  /** Stops the code where it is. Only rollbacks still run. */
  #terminate(reason: string | undefined): void {
    // The unwinding goes on, without waiting for attempts that the terminate has stopped.
    if (this.isUnwinding) return this.asks.drop()
    this.#halted = true
    this.#terminated = new TerminatedError(this.#environment.info.id, reason)
    this.asks.clear()
    this.#undo()
  }

  /** Drops the outcome of the code and runs the rollbacks: a cancel or a terminate decides how the run ends. */
  #undo(): void {
    this.outcome = undefined
    this.#unwind({ ok: true, value: undefined })
  }

  /** Completed steps whose rollback has failed or has not run. */
  get notRolledBack(): readonly string[] {
    return this.#rollbacks?.notRolledBack ?? []
  }

  #settle(entry: SettlingEntry, received: ReceivedEntry | undefined): void {
    const ask = this.asks.take(entry.id)
    if (ask === undefined) return
    if (entry.type === "step.completed" && isUndoable(ask)) this.#rollbackStack.completed(ask, entry.value)
    if (ask.attemptEnded) ask.attemptEnded.resolve(undefined)
    else if (ask.cancelled) ask.reject(ask.cancelled)
    else settle(ask, entry, received)
  }

  get #rollbackStack(): RollbackStack {
    this.#rollbacks ??= new RollbackStack(this.#environment.workflow.options.rollbackPolicy)
    return this.#rollbacks
  }

  #noteUndoable(ask: OpenAsk): void {
    if (isUndoable(ask)) this.#rollbackStack.started(ask)
  }

  submit(request: AskRequest): Promise<unknown> {
    const environment = this.#environment
    environment.guard()
    this.refuseInHandler()
    // The run has ended, and code that the workflow did not await asks for more.
    if (this.#halted) return new Promise(() => undefined)
    if (++this.#asked > environment.limits.stepsMax) throw tooManySteps(environment.limits.stepsMax)
    if (request.kind !== "do") {
      this.#cancellation?.throwIfRequested()
      if (request.signal?.aborted) throw request.signal.reason
    }
    return this.#put(request)
  }

  #put(request: AskRequest): Promise<unknown> {
    this.lastAsked = request.id
    const ask = this.asks.add(request)
    if (request.kind !== "do") request.signal?.addEventListener("abort", () => this.#abort(ask), { once: true })
    this.#environment.onActivity()
    return ask.promise
  }

  #abort(ask: OpenAsk): void {
    const { id } = ask.request
    const withdrawn = this.asks.withdraw(ask)
    if (!withdrawn) return
    if (withdrawn.recorded) this.note({ type: "ask.aborted", id })
    ask.reject((ask.request as { signal: AbortSignal }).signal.reason)
    this.#environment.onActivity()
  }

  note(note: Note): void {
    if (this.notes.length === 0) this.notes = [note]
    else this.notes.push(note)
    this.#environment.onActivity()
  }

  /** Decides once for each patch and run. The answer is false while the journal has asks of older code that this run has not repeated yet. */
  patched(patch: string): boolean {
    this.#environment.guard()
    this.#patches ??= new Map()
    const known = this.#patches.get(patch)
    if (known !== undefined) return known
    this.refuseInHandler()
    const isPatched = this.asksAhead === 0
    this.#patches.set(patch, isPatched)
    if (isPatched) this.note({ type: "patched", patch })
    return isPatched
  }

  /** Ends the run with an input for the next run. Throws if the input is invalid, as a start does. */
  async continueAsNew(input: unknown): Promise<void> {
    this.#environment.guard()
    this.refuseInHandler()
    const { name, options } = this.#environment.workflow
    const what = `the input of workflow "${name}"`
    const isSensitive = options.sensitive?.input
    const value = options.input ? await validate(options.input, input, { code: "INVALID_INPUT", what, isSensitive }) : input
    const continues = Payload.of(encodeValue(value, { what, bytesMax: this.#environment.limits.payloadBytesMax }), isSensitive)
    if (this.#isCancelled) return this.#finish({ ok: true, value: undefined })
    if (this.#halted) return
    this.#halted = true
    this.#end({ ok: true, value: undefined, continues })
  }

  get handlers(): EventHandlers {
    this.#handlers ??= new EventHandlers()
    return this.#handlers
  }

  get queryUpdateHandlers(): QueryUpdateHandlers {
    this.#queryUpdateHandlers ??= new QueryUpdateHandlers(this)
    return this.#queryUpdateHandlers
  }

  handlesEvent(type: string): boolean {
    return !this.#halted && this.#handlers?.handlesEvent(type) === true
  }

  newHandler(): void {
    this.hasNewHandlers = true
    this.#environment.onActivity()
  }

  readOnly<T>(what: string, read: () => T): T {
    this.#readOnlyGuard ??= new ReadOnlyGuard()
    return this.#readOnlyGuard.run(what, (run) => this.#environment.enter(run), read)
  }

  /** Throws while a query handler or a predicate runs, which may only read. */
  refuseInHandler(): void {
    this.#readOnlyGuard?.refuse()
  }

  enter(run: () => void): void {
    this.#environment.enter(run)
  }

  get payloadBytesMax(): number {
    return this.#environment.limits.payloadBytesMax
  }

  get children(): Children {
    this.#children ??= new Children(this, this.#environment.childEffects, this.#environment.limits)
    return this.#children
  }

  guardWait(): void {
    this.refuseInHandler()
    this.#cancellation?.throwIfRequested()
  }

  get signal(): AbortSignal {
    this.#cancellation ??= new Cancellation(this.#environment.info.id)
    return this.#cancellation.signal
  }

  get instance(): InstanceInfo {
    return this.#info ?? this.#environment.info
  }

  /** A worker has crashed at this point of the journal. From here on the code sees a higher attempt number, on every replay. */
  recovered(): void {
    this.#info = { ...this.instance, attempt: this.instance.attempt + 1 }
  }

  get annotations(): Annotations {
    if (this.#annotations === undefined) {
      this.#annotations = new Annotations(this, this.#environment.limits)
      if (this.#start) this.#annotations.begin(this.#start)
    }
    return this.#annotations
  }

  guardChange(): void {
    this.#environment.guard()
    this.refuseInHandler()
  }

  annotate(entry: EntryOf<"annotated">): void {
    if (!this.#halted) this.note(entry)
  }

  get seed(): string {
    return this.#environment.seed
  }

  say(level: keyof WorkflowLog, message: string, data?: Record<string, unknown>): void {
    if (!this.replaying) this.#environment.log[level](message, { instance: this.#environment.info.id, ...data })
  }
}

const noNotes: Note[] = []
