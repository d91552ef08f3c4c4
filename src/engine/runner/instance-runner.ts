import type { AskRequest } from "../../core/execution/ask.ts"
import { type ErrorCode } from "../../core/errors.ts"
import type { ExecutionSpec } from "../../core/execution/execution-environment.ts"
import { InstanceState } from "../../core/journal/instance-state.ts"
import type { Entry, EntryOf, Recorded } from "../../core/journal/journal.ts"
import { isCodecTrouble } from "../../core/values/encoded-payload.ts"
import { SmallQueue } from "../../core/collections/small-queue.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { InstanceRow, Message, NewInstance, RowState } from "../../ports/journal-store.ts"
import { StepAttempts } from "../steps/step-attempts.ts"
import type { CommitResult } from "../worker/group-committer.ts"
import type { StartSpec } from "./start-spec.ts"
import { QueryUpdateResponder } from "./query-update-responder.ts"
import { WakeUpTimer } from "./wake-up-timer.ts"
import { AskRecorder } from "./ask-recorder.ts"
import { ResidentExecution } from "./resident-execution.ts"
import { DirectEventDelivery } from "./direct-event-delivery.ts"
import { type EndingHooks, hooksOf } from "./ending-hooks.ts"
import type { RunnerInput } from "./runner-input.ts"
import { InstanceTimers } from "./instance-timers.ts"
import type { LoadedInstance } from "./run-loader.ts"
import { MessageHandler, type IncomingMessage } from "./message-handler.ts"
import { InboxBeforeStart } from "./inbox-before-start.ts"
import type { Runnable } from "./macrotask-queue.ts"
import { describeDisagreement, type Disagreement } from "./replay.ts"
import { ReleaseQueue, type ReleaseListener } from "./release-queue.ts"
import { RunCompletion } from "./run-completion.ts"
import { RowProjection } from "./row-projection.ts"
import type { RunnerContext } from "./runner-context.ts"
import type { TurnDraft } from "./turn-draft.ts"
import { TurnWriter } from "./turn-writer.ts"

/**
 * Drives one resident instance. `pump` runs after a macrotask, and does in this order: release what is recorded, one entry at
 * a time; record what the code asked for; take in one input (an attempt that ended, a message, a nested ask); fire one
 * timer. When nothing is left, what was recorded becomes a turn. Replay is the same loop with a release queue that starts full.
 */
export class InstanceRunner implements Runnable, ReleaseListener {
  readonly id: string
  readonly identity: NewInstance
  readonly workflow: AnyWorkflow
  readonly state = new InstanceState()
  /** Of its journal, roughly: what it costs to keep it in memory. */
  textLength = 0
  activeAt = 0
  isQueued = false
  /** There may be messages that it has not read. */
  isInboxDirty = false

  readonly completion: RunCompletion
  #queryUpdateResponder: QueryUpdateResponder | undefined = undefined
  #directEvents: DirectEventDelivery | undefined = undefined
  readonly #context: RunnerContext
  readonly #writer: TurnWriter
  readonly #releaseQueue: ReleaseQueue
  readonly #attempts: StepAttempts
  readonly #recorder: AskRecorder
  readonly #messageHandler: MessageHandler
  /** Where there are any to call. */
  readonly #hooks: EndingHooks | undefined
  readonly #timers: InstanceTimers
  readonly #row: RowProjection
  readonly #wakeUpTimer: WakeUpTimer
  readonly #inputs = new SmallQueue<RunnerInput>()
  /** The loop runs, or it made a release whose macrotask has not passed. */
  #isAdvancing = false
  #mustRecoverSteps = false
  /** Of an instance that was loaded. */
  #inboxBeforeStart: InboxBeforeStart | undefined = undefined
  #isGone = false
  /** It stalled: its attempts are given up, so that it can go on only when it is loaded again. */
  #mustReload = false
  /** Whoever waits for its end was told. */
  #endAnnounced = false

  constructor(context: RunnerContext, workflow: AnyWorkflow, identity: NewInstance) {
    this.#context = context
    this.workflow = workflow
    this.identity = identity
    this.id = identity.id
    this.#wakeUpTimer = new WakeUpTimer(context, this)
    this.#hooks = hooksOf(context, workflow, identity, this.state)
    this.#writer = new TurnWriter(context, identity, this.state, this)
    this.#releaseQueue = new ReleaseQueue(this.state, this)
    this.#attempts = new StepAttempts(context, identity, workflow, this.state, this.#writer, this)
    this.completion = new RunCompletion(context, identity, this.state, this.#writer, this.#releaseQueue, this.#attempts, this)
    this.#timers = new InstanceTimers(context, this.state, this.#writer, this)
    this.#messageHandler = new MessageHandler(this.state, this.#writer, this.#releaseQueue, this)
    this.#recorder = new AskRecorder(context, this.state, this.#writer, this.#attempts, this)
    const parts = { releaseQueue: this.#releaseQueue, attempts: this.#attempts, writer: this.#writer, inputs: this.#inputs }
    this.#row = new RowProjection(context, { identity, state: this.state, completion: this.completion, timers: this.#timers, hooks: this.#hooks, ...parts })
  }

  /** Created for the first event: most instances get none. */
  get directEvents(): DirectEventDelivery {
    this.#directEvents ??= new DirectEventDelivery(this.state, this.#writer, this.#messageHandler, this)
    return this.#directEvents
  }

  /** Created for the first query or update: most instances get none. */
  get queryUpdateResponder(): QueryUpdateResponder {
    this.#queryUpdateResponder ??= new QueryUpdateResponder(this.id, this.#context, this.#writer, this.#releaseQueue, this)
    return this.#queryUpdateResponder
  }

  #inputOf(message: IncomingMessage): RunnerInput {
    return { handle: (gated) => this.#messageHandler.handle(message, gated && !this.#row.isDelayed) }
  }

  resume(messages: readonly IncomingMessage[]): void {
    this.#attempts.resume()
    this.#inputs.unshift(messages.map((message) => this.#inputOf(message)))
  }

  request(id: string): AskRequest | undefined {
    return this.#releaseQueue.execution?.asks.request(id)
  }

  onAskMatched(): void {
    this.#wakeUpTimer.endGrace()
  }

  onAskMissing(describe: () => Disagreement): void {
    this.#wakeUpTimer.startGrace(() => this.onMismatch(describe()))
  }

  onMismatch(disagreement: Disagreement): void {
    this.#stall("JOURNAL_MISMATCH", describeDisagreement(disagreement))
  }

  get isGone(): boolean {
    return this.#isGone
  }

  onLost(result: Exclude<CommitResult, "committed">): void {
    if (!this.#isGone) this.#context.onLost(this, typeof result === "object" ? result.error : undefined)
  }

  /** A new instance: its code runs up to its first asks, and they are committed together with its creation. */
  create({ start, within }: StartSpec, onCreated: (result: CommitResult) => void): void {
    this.record(start)
    const { draft } = this.#writer
    draft.create = this.identity
    draft.within = within
    draft.onResult = onCreated
    this.#context.macrotaskQueue.enqueue(this)
  }

  /** An instance from the store: its journal is released again, then it goes on. */
  load(row: InstanceRow, { recorded, lastTurn, textLength, childResults }: LoadedInstance, crashed: boolean): void {
    this.textLength = textLength
    this.activeAt = this.#context.host.now()
    for (const item of recorded) {
      this.state.apply(item)
      this.#releaseQueue.push(item)
    }
    for (const message of childResults) this.#inputs.push(this.#inputOf(message))
    this.#writer.restore(row, this.state.position, lastTurn, this.#timers.awaitsWallClock)
    this.#row.restore(row)
    if (row.dueAt === undefined) this.#hooks?.markHandled()
    this.#releaseQueue.markReplay()
    this.#mustRecoverSteps = true
    this.state.dormant = this.state.isHeldBack
    this.#inboxBeforeStart = new InboxBeforeStart()
    if (this.state.ended || this.state.stalled) return
    // The grace of a cancel that found no worker begins here.
    if (!crashed && this.state.cancel && this.state.cancel.graceFrom === undefined) this.record({ type: "rested" })
    if (!crashed) return
    this.record({ type: "recovered", worker: this.#context.worker })
    if (this.state.crashes > this.#context.settings.recoveriesMax) {
      this.#stall("TOO_MANY_CRASHES", `the worker died ${this.state.crashes} times in a row while it ran this instance; fix what kills it, then resume`)
    }
    this.#inboxBeforeStart.recordCrash(this.#writer, () => this.#context.macrotaskQueue.enqueue(this))
  }

  /** Something came that no turn has taken in yet. */
  get hasInputs(): boolean {
    return this.isInboxDirty || this.#inputs.size > 0
  }

  /** The store knows of it, and nothing is being written. */
  get isSettledInStore(): boolean {
    return this.#writer.isDurable(1) && this.#writer.idle
  }

  /** Nothing is under way: it may leave memory. */
  get idle(): boolean {
    return this.isAtRest && this.#attempts.count === 0
  }

  /** All that is under way are steps whose functions wait for sleeps and waits inside them: they can be entered again. */
  get isAtRest(): boolean {
    if (this.isQueued || this.#isAdvancing || this.hasInputs || this.#inboxBeforeStart?.blocksStart || this.#hooks?.isCalling || !this.#writer.idle)
      return false
    return this.#attempts.count === 0 || !this.state.working
  }

  get attempts(): number {
    return this.#attempts.count
  }

  /** Messages from its inbox, in order; those it has are passed over. `isAll`: no more are known to be there. */
  receive(messages: readonly Message[], isAll = true): void {
    const wasDirty = this.isInboxDirty
    this.isInboxDirty = !isAll
    const fresh = messages.filter(({ seq }) => seq > this.#messageHandler.inboxSeen)
    this.#messageHandler.inboxSeen = fresh.at(-1)?.seq ?? this.#messageHandler.inboxSeen
    const isFirst = this.#inboxBeforeStart?.receive(fresh, isAll, this.#inputs, (message) => this.#inputOf(message))
    if (!isFirst) this.submit(...fresh.map((message) => this.#inputOf(message)))
    // A timeout may have waited for this.
    if (wasDirty && !this.#isGone) this.#context.macrotaskQueue.enqueue(this)
  }

  get acceptsDirectEvents(): boolean {
    return !this.#isGone && this.idle && !this.#isGated && this.#releaseQueue.execution !== undefined && this.#releaseQueue.isQuiet
  }

  /** Leaves memory: attempts are told to stop, and nothing that they or the code still do has an effect. */
  drop(reason?: unknown): void {
    this.#isGone = true
    this.#wakeUpTimer.stop()
    this.#attempts.abandon(reason ?? `instance "${this.id}" left memory`)
    this.#writer.abandon(reason)
  }

  pump(): void {
    if (this.#isGone || this.#inboxBeforeStart?.blocksStart || this.#writer.isLocked || this.#writer.isReleasingSlots) return
    // What a step asks for on the way waits for its turn in the loop: it must not begin another inside.
    this.#isAdvancing = true
    try {
      this.#isAdvancing = this.#advance()
      if (this.#context.isOutOfRoom && this.isAtRest) this.#context.onAtRest()
    } catch (bug) {
      if (isCodecTrouble(bug) && !this.state.stalled) this.#stall(bug.code, `${bug.message}; then resume`)
      else this.#context.onLost(this, bug)
    }
  }

  /** True: a release was made. */
  #advance(): boolean {
    let drained = false
    for (;;) {
      if (this.#row.hasUnprocessed && !this.#writer.makeRoom()) return false
      const progress = this.#isGated || this.#inboxBeforeStart?.hasControls ? "gated" : this.#releaseQueue.advance()
      drained = progress === "drained"
      if (progress === "released") {
        this.#context.macrotaskQueue.enqueue(this)
        return true
      }
      if (progress === "blocked") break
      if (progress === "drained" && this.#continue()) continue
      const input = this.#inputs.shift()
      if (input) {
        if (!this.state.ended && !this.completion.hasContinued) input.handle(progress === "gated")
        this.#inboxBeforeStart?.onHandled(this.state)
        if (this.#writer.isLocked) return false
        continue
      }
      if (progress === "drained" && this.#timers.fire()) continue
      if (this.#row.hasNoSlots && !this.#context.draining && this.#timers.fireDeadline()) continue
      if (this.state.ended || this.#context.draining || this.#attempts.isOutOfBudget || !this.#writer.correctRow()) break
    }
    this.#writer.seal()
    this.#updateTimers(drained)
    return false
  }

  /** All that is recorded is released: looks what the code made of it. True: there is something to release. */
  #continue(): boolean {
    const { execution } = this.#releaseQueue
    if (!execution) return false
    if (this.#mustRecoverSteps) {
      this.#mustRecoverSteps = false
      this.#recorder.stopIfUnwinding(execution)
      this.#attempts.recover()
      return true
    }
    return this.#recorder.record(execution)
  }

  /** Nothing is released to the code now: it is paused, stalled, over, its time has not come, or the engine is closing. */
  get #isGated(): boolean {
    const { ended, stalled, isHeldBack } = this.state
    if (ended !== undefined || stalled !== undefined || isHeldBack) return true
    return this.#mustReload || this.#row.hasNoSlots || this.completion.hasContinued || this.#context.draining || this.#row.isDelayed
  }

  executionSpec(): ExecutionSpec {
    return new ResidentExecution(this.#context, this)
  }

  record(entry: Entry): Recorded {
    const recorded = this.#writer.record(entry)
    this.#releaseQueue.push(recorded)
    return recorded
  }

  onTransacted(recorded: Recorded): void {
    this.#releaseQueue.push(recorded)
    this.#attempts.onTransacted(recorded)
  }

  recordAsk(request: AskRequest): void {
    this.#recorder.recordAsk(request)
  }

  settle(entry: EntryOf<"sleep.completed" | "wait.completed" | "wait.timedOut">): void {
    this.#attempts.settleNested(this.record(entry))
  }

  submit(...inputs: RunnerInput[]): void {
    if (this.#isGone || inputs.length === 0) return
    for (const input of inputs) this.#inputs.push(input)
    // All are there when the first is taken in.
    this.pumpNow()
  }

  /** Where the last release is a macrotask ago, it need not wait for another. */
  pumpNow(): void {
    if (!this.isQueued && !this.#isAdvancing) this.pump()
  }

  retry(id: string): void {
    this.#attempts.retry(id)
  }

  get inboxSeen(): number {
    return this.#messageHandler.inboxSeen
  }

  #stall(code: ErrorCode, message: string): void {
    this.#mustReload = true
    this.record({ type: "stalled", code, message })
    this.#writer.whenDurable({ afterCommit: () => this.#context.onStalled(this) })
    this.#attempts.abandon(message)
    this.#context.host.log.warn(`instance "${this.id}" is stalled: ${message}`, { instance: this.id, code })
    this.#context.macrotaskQueue.enqueue(this)
  }

  row(previous?: RowState): RowState {
    return this.#row.row(previous)
  }

  onCommitted(draft: TurnDraft): void {
    this.textLength += draft.entries.length
    this.activeAt = draft.at
    if (this.#isGone) return
    draft.runAfterCommit()
    if (this.state.ended && !this.#endAnnounced && this.#writer.isDurable(this.state.ended.position)) {
      this.#endAnnounced = true
      this.#context.onEnded(this)
    }
    const { row } = this.#writer
    if (row && row.owner === undefined && this.#writer.idle) this.#context.onReleased(this, row.dueAt)
    else if (this.#mustReload && !this.state.stalled) this.#context.onIdle(this)
    else if (!this.isQueued && !this.#isAdvancing && !this.#awaitsSteps) this.#context.macrotaskQueue.enqueue(this)
  }

  /** Nothing is left to do before a step's function ends, which makes it go on by itself. */
  get #awaitsSteps(): boolean {
    if (this.#attempts.count === 0 || this.hasInputs || !this.#writer.isRowSettled || !this.#releaseQueue.isQuiet) return false
    return this.state.working && !this.#isGated
  }

  /** Over, paused or not due: nothing more to do here but to call hooks, and to leave. */
  #callHooksOrLeave(): void {
    // What woke it may be in the inbox, which a store answers in its own time.
    if (this.isInboxDirty || !this.#writer.idle || this.#hooks?.isCalling || this.#attempts.count > 0) return
    const hooks = this.#hooks
    if (!hooks?.hasPending) {
      const row = this.row()
      // The store still has it as due for hooks that the code has no more.
      if (this.#writer.row?.dueAt !== undefined && row.dueAt === undefined && (this.state.ended || this.state.stalled))
        this.record({ type: "hook.completed", hook: "none" })
      this.#writer.seal()
      if (row.owner === undefined && this.#writer.idle) this.#context.onIdle(this)
      return
    }
    const dueAt = hooks.callIfDue(this, this.#writer)
    if (dueAt !== undefined) this.#wakeUpTimer.setTo(dueAt)
  }

  /** Keeps the timers of the host in line with what is pending. */
  #updateTimers(drained: boolean): void {
    // While replay waits for the code no timer can be acted on.
    this.#wakeUpTimer.setTo(drained && !this.#timers.isBlocked ? this.#timers.nextCheckAt : undefined)
    if (this.#isGated) return this.#callHooksOrLeave()
    if (!drained) return
    if (!this.#isStuck) return this.#wakeUpTimer.endGrace()
    this.#wakeUpTimer.startGrace(() => {
      if (this.#isStuck) this.#stall("FOREIGN_AWAIT", "the code waits for something that does not come from ctx; await only what ctx gives, then resume")
    })
  }

  /** The code has asked for nothing and has not ended. While it is being cancelled it ends with the grace. */
  get #isStuck(): boolean {
    return this.#releaseQueue.hasNothingPending && !this.state.cancel && this.#attempts.count === 0 && this.#writer.idle
  }
}
