import { Annotations } from "./annotations.ts"
import type { AskRequest } from "./ask.ts"
import { Cancellation, type CancelRequest } from "./cancellation.ts"
import { encodeValue, Payload } from "../values/value-codec.ts"
import type { InstanceInfo, WorkflowLog } from "../workflow/context.ts"
import { firstSettledCondition, type ConditionResult } from "./condition.ts"
import { TerminatedError, tooManySteps } from "../errors.ts"
import { EventHandlers } from "./event-handlers.ts"
import type { ExecutionSpec } from "./execution-environment.ts"
import { Children } from "./child-handles.ts"
import type { ReceivedEntry } from "../journal/event-buffer.ts"
import type { EntryOf, Note, Recorded, Release } from "../journal/journal.ts"
import { OpenAsks, type OpenAsk } from "./open-asks.ts"
import { storable, type Outcome } from "./run-outcome.ts"
import { QueryUpdateHandlers } from "./query-update-handlers.ts"
import { ReadOnlyGuard } from "./read-only-guard.ts"
import { isUndoable, RollbackStack } from "./rollback-stack.ts"
import { startOf } from "../journal/run-history.ts"
import { settle, type Settling } from "./ask-settlement.ts"
import { validate } from "../workflow/standard-schema.ts"
import { callAsPromise } from "./promise-call.ts"
import { WorkflowContext, type ContextSource } from "./workflow-context.ts"

/**
 * Workflow code and its journal. The code asks; whoever drives the execution records each ask (`accept`), does it, records
 * what came out and releases that entry (`release`), which settles one promise. Live execution and replay are this one path:
 * a driver releases exactly one entry, lets a macrotask pass, and looks at `fresh`, `notes` and `outcome`.
 *
 * Suspension is a promise left pending. Nothing here does I/O, reads a clock or draws a random number.
 */
export class Execution implements ContextSource {
  readonly asks = new OpenAsks()
  /** What the code did that is to be recorded, and that nothing comes of: asks given up, patches, answers to updates. */
  notes: Note[] = noNotes
  outcome: Outcome | undefined = undefined
  /** Log lines of workflow code are silent while this is set. */
  replaying = false
  /** Recorded asks that the code has not come to yet. */
  asksAhead = 0
  /** The time of the last entry seen. */
  now = 0
  lastAsked: string | undefined = undefined
  /** The code has ended, and what it completed is being undone. */
  isUnwinding = false
  /** Handlers were set, which events that are buffered may be for. */
  hasNewHandlers = false

  readonly #spec: ExecutionSpec
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
  /** Once its worker has crashed. */
  #info: InstanceInfo | undefined = undefined
  /** None of the code's own promises settle any more: it was terminated, or goes on as new. */
  #halted = false
  #reading: ReadOnlyGuard | undefined = undefined

  constructor(spec: ExecutionSpec) {
    this.#spec = spec
    if (spec.workflow.options.rollbackPolicy?.of === "started") this.asks.onStepStarted = (ask) => this.#noteUndoable(ask)
  }

  /** None of its code runs any more. */
  get isHalted(): boolean {
    return this.#halted
  }

  get hasOpenAsks(): boolean {
    return this.asks.size > 0 || this.#children?.isAwaited === true
  }

  /** A condition that the code waits for and that holds now, or whose predicate throws. */
  evaluateConditions(): ConditionResult | undefined {
    return firstSettledCondition(this.asks.conditions(), (what, predicate) => this.readingOnly(what, predicate))
  }

  /** The code asks for nothing, but what comes from outside may make a handler of its own settle what it waits for. */
  get onlyHandlersPending(): boolean {
    return (this.#handlers?.areOpen === true || this.#queryUpdateHandlers?.areOpen === true) && !this.hasOpenAsks && !this.#halted
  }

  /** The code has nothing that is to be recorded. */
  get isQuiet(): boolean {
    return !this.outcome && this.asks.fresh.size === 0 && this.notes.length === 0 && !this.hasNewHandlers
  }

  takeNotes(): readonly Note[] {
    const { notes } = this
    this.notes = noNotes
    return notes
  }

  /** That the code gave it up is in the journal. */
  recordedAborted(id: string): void {
    if (this.notes.length > 0) this.notes = this.notes.filter((note) => note.type !== "ask.aborted" || note.id !== id)
  }

  /** The patch is in the journal of this run: the code takes its path again. */
  recordedPatch(patch: string): void {
    this.#patches ??= new Map()
    this.#patches.set(patch, true)
  }

  /** Releases one entry to the code. `received` is the event that a completed wait or a handler receives. */
  release({ entry, at, position }: Recorded<Release>, received?: ReceivedEntry): void {
    this.now = at
    switch (entry.type) {
      case "run.started":
        // A delayed one was written long before it begins.
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
        return this.#halted ? undefined : this.#answer(entry)
      default:
        return this.#settle(entry, received)
    }
  }

  #answer(entry: EntryOf<"update.accepted">): void {
    this.queryUpdateHandlers.update(entry)
  }

  #begin(input: unknown): void {
    const context = new WorkflowContext(this, this.#spec.workflow.options.duplicateSteps ?? "number", this.#spec.limits)
    this.#spec.enter(() => this.#follow(callAsPromise(() => this.#spec.workflow.run(context, input))))
  }

  #follow(running: Promise<unknown>): void {
    running.then(
      (value) => this.#finish({ ok: true, value }),
      (error: unknown) => this.#finish({ ok: false, error }),
    )
  }

  /** Runs a handler of the code's; what it throws fails the run. */
  #call(run: () => unknown): void {
    this.#spec.enter(() => {
      callAsPromise(run).catch((error: unknown) => this.#finish({ ok: false, error }))
    })
  }

  /** The code has ended: what is to be undone is undone first. */
  #finish(ended: Outcome): void {
    if (this.#halted) return
    this.#halted = true
    const outcome = this.#hasUndoable ? storable(ended, this.#spec.limits.payloadBytesMax) : ended
    if (this.#hasUndoable && (!outcome.ok || this.#isCancelled)) this.#unwind(outcome)
    else this.#end(outcome)
  }

  /** Steps have completed that can be undone, or are under way and may complete. */
  get #hasUndoable(): boolean {
    return (this.#rollbacks?.size ?? 0) > 0 || this.asks.hasUndoable
  }

  #unwind(outcome: Outcome): void {
    const rollbacks = this.#rollbackStack
    const error = outcome.ok ? (this.#terminated ?? this.#cancellation?.error) : outcome.error
    const { underWay, aborted } = this.asks.giveUpRest()
    for (const id of aborted) this.note({ type: "ask.aborted", id })
    this.isUnwinding = true
    this.#spec.onActivity()
    this.#spec.enter(() => {
      // What is still being done may have to be undone as well.
      Promise.all(underWay)
        .then(() => rollbacks.unwind((request) => this.#put(request), error))
        .then(
          (failed) => this.#end(failed.length === 0 ? outcome : { ...outcome, notRolledBack: failed }),
          (error: unknown) => this.#end({ ok: false, error }),
        )
    })
  }

  #end(outcome: Outcome): void {
    this.outcome ??= outcome
    this.#spec.onActivity()
  }

  get #isCancelled(): boolean {
    return this.#cancellation?.isRequested === true
  }

  #cancel(request: CancelRequest): void {
    this.#cancellation ??= new Cancellation(this.#spec.info.id)
    this.#cancellation.request(request, this.asks, this.#children)
    // The code ended before it saw this, and that is not recorded.
    if (this.outcome && !this.isUnwinding && this.#hasUndoable) this.#undo()
  }

  /** The code stops where it is; only what it has completed is undone. */
  #terminate(reason: string | undefined): void {
    // Nobody waits for what was dropped.
    if (this.isUnwinding) return this.asks.drop()
    this.#halted = true
    this.#terminated = new TerminatedError(this.#spec.info.id, reason)
    this.asks.clear()
    this.#undo()
  }

  /** However the code ended, the run comes to another end. */
  #undo(): void {
    this.outcome = undefined
    this.#unwind({ ok: true, value: undefined })
  }

  /** Steps that have completed and are not undone. */
  get notRolledBack(): readonly string[] {
    return this.#rollbacks?.left ?? []
  }

  #settle(entry: Settling, received: ReceivedEntry | undefined): void {
    const ask = this.asks.take(entry.id)
    if (ask === undefined) return
    if (entry.type === "step.completed" && isUndoable(ask)) this.#rollbackStack.completed(ask, entry.value)
    if (ask.over) ask.over.resolve(undefined)
    else if (ask.cancelled) ask.reject(ask.cancelled)
    else settle(ask, entry, received)
  }

  get #rollbackStack(): RollbackStack {
    this.#rollbacks ??= new RollbackStack(this.#spec.workflow.options.rollbackPolicy)
    return this.#rollbacks
  }

  #noteUndoable(ask: OpenAsk): void {
    if (isUndoable(ask)) this.#rollbackStack.started(ask)
  }

  submit(request: AskRequest): Promise<unknown> {
    const spec = this.#spec
    spec.guard()
    this.refuseInHandler()
    // The code has ended, and what it left running asks for more.
    if (this.#halted) return new Promise(() => undefined)
    if (++this.#asked > spec.limits.stepsMax) throw tooManySteps(spec.limits.stepsMax)
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
    this.#spec.onActivity()
    return ask.promise
  }

  #abort(ask: OpenAsk): void {
    const { id } = ask.request
    const withdrawn = this.asks.withdraw(ask)
    if (!withdrawn) return
    if (withdrawn.recorded) this.note({ type: "ask.aborted", id })
    ask.reject((ask.request as { signal: AbortSignal }).signal.reason)
    this.#spec.onActivity()
  }

  note(note: Note): void {
    if (this.notes.length === 0) this.notes = [note]
    else this.notes.push(note)
    this.#spec.onActivity()
  }

  /** The first answer holds for the whole run: while asks that older code recorded lie ahead, it is no. */
  patched(patch: string): boolean {
    this.#spec.guard()
    this.#patches ??= new Map()
    const known = this.#patches.get(patch)
    if (known !== undefined) return known
    this.refuseInHandler()
    const isPatched = this.asksAhead === 0
    this.#patches.set(patch, isPatched)
    if (isPatched) this.note({ type: "patched", patch })
    return isPatched
  }

  /** The input is checked as that of a start is; what is wrong with it is thrown. */
  async continueAsNew(input: unknown): Promise<void> {
    this.#spec.guard()
    this.refuseInHandler()
    const { name, options } = this.#spec.workflow
    const what = `the input of workflow "${name}"`
    const isSensitive = options.sensitive?.input
    const value = options.input ? await validate(options.input, input, { code: "INVALID_INPUT", what, isSensitive }) : input
    const continues = Payload.of(encodeValue(value, { what, bytesMax: this.#spec.limits.payloadBytesMax }), isSensitive)
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
    this.#spec.onActivity()
  }

  readingOnly<T>(what: string, read: () => T): T {
    this.#reading ??= new ReadOnlyGuard()
    return this.#reading.run(what, (run) => this.#spec.enter(run), read)
  }

  /** Throws while only reading is allowed. */
  refuseInHandler(): void {
    this.#reading?.refuse()
  }

  enter(run: () => void): void {
    this.#spec.enter(run)
  }

  get payloadBytesMax(): number {
    return this.#spec.limits.payloadBytesMax
  }

  get children(): Children {
    this.#children ??= new Children(this, this.#spec.childEffects, this.#spec.limits)
    return this.#children
  }

  guardWait(): void {
    this.refuseInHandler()
    this.#cancellation?.throwIfRequested()
  }

  get signal(): AbortSignal {
    this.#cancellation ??= new Cancellation(this.#spec.info.id)
    return this.#cancellation.signal
  }

  get instance(): InstanceInfo {
    return this.#info ?? this.#spec.info
  }

  /** The worker crashed here: so it is for the code, too, whenever it comes this far. */
  recovered(): void {
    this.#info = { ...this.instance, attempt: this.instance.attempt + 1 }
  }

  get annotations(): Annotations {
    if (this.#annotations === undefined) {
      this.#annotations = new Annotations(this, this.#spec.limits)
      if (this.#start) this.#annotations.begin(this.#start)
    }
    return this.#annotations
  }

  guardChange(): void {
    this.#spec.guard()
    this.refuseInHandler()
  }

  annotate(entry: EntryOf<"annotated">): void {
    if (!this.#halted) this.note(entry)
  }

  get seed(): string {
    return this.#spec.seed
  }

  say(level: keyof WorkflowLog, message: string, data?: Record<string, unknown>): void {
    if (!this.replaying) this.#spec.log[level](message, { instance: this.#spec.info.id, ...data })
  }
}

const noNotes: Note[] = []
