import type { AskRequest } from "../../core/execution/ask.ts"
import { type ErrorCode } from "../../core/errors.ts"
import type { ExecutionEnvironment } from "../../core/execution/execution-environment.ts"
import { InstanceState } from "../../core/journal/instance-state.ts"
import type { Entry, EntryOf, Recorded } from "../../core/journal/journal.ts"
import { isCodecTrouble } from "../../core/values/encoded-payload.ts"
import { SmallQueue } from "../../core/collections/small-queue.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { InstanceRow, Message, NewInstance } from "../../ports/journal-store.ts"
import { StepAttempts } from "../steps/step-attempts.ts"
import type { CommitResult } from "../worker/group-committer.ts"
import type { StartSpec } from "./start-spec.ts"
import { QueryUpdateResponder } from "./query-update-responder.ts"
import type { TaskAttempts } from "../tasks/task-attempts.ts"
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
 * Drives ONE resident instance. The worker has many of them: `claim-loop.ts` says how they come into memory, and `MacrotaskQueue` runs them in turn.
 * Each round of the loop (`pump`, `#advance`) does the first of these that applies, and then begins again:
 *
 *   1. Release the next recorded entry to the code. Then the loop waits for a macrotask, so that the code has done all that follows from the entry.
 *   2. Record what the code has asked for.
 *   3. Handle one input: the end of an attempt, a message or a nested ask.
 *   4. Fire one timer that is due.
 *
 * When none applies, the recorded entries become a turn (`TurnWriter`). A step's function begins only when its turn is durable. Replay is the same loop
 * with a release queue that begins full. If a turn is lost or fails, the runner is dropped, and the worker loads the instance from the store again.
 */
export class InstanceRunner implements Runnable, ReleaseListener {
  readonly id: string
  readonly identity: NewInstance
  readonly workflow: AnyWorkflow
  readonly state = new InstanceState()
  /** The length of the journal's text, as an estimate of the memory that the instance takes. */
  textLength = 0
  activeAt = 0
  isQueued = false
  /** The inbox may have messages that the runner has not read. */
  isInboxDirty = false
  /** The instance has left memory: nothing that this runner still does may have an effect. */
  isGone = false
  readonly completion: RunCompletion
  #queryUpdateResponder: QueryUpdateResponder | undefined = undefined
  #directEvents: DirectEventDelivery | undefined = undefined
  readonly #context: RunnerContext
  readonly #writer: TurnWriter
  readonly #releaseQueue: ReleaseQueue
  readonly #attempts: StepAttempts
  readonly #recorder: AskRecorder
  readonly #messageHandler: MessageHandler
  /** Undefined: neither the workflow nor the engine has hooks. */
  readonly #hooks: EndingHooks | undefined
  readonly #timers: InstanceTimers
  readonly projection: RowProjection
  readonly #wakeUpTimer: WakeUpTimer
  readonly #inputs = new SmallQueue<RunnerInput>()
  /** The loop is running, or it has made a release whose macrotask has not passed. */
  #isAdvancing = false
  /** After a load: the steps that were open in the journal begin again once replay has reached its end. */
  #mustRecoverSteps = false
  /** Undefined: the instance was created here, not loaded. */
  #inboxBeforeStart: InboxBeforeStart | undefined = undefined
  /** The instance stalled, and its attempts are abandoned: after a resume it has to be loaded again. */
  #mustReload = false
  /** The worker was told that the instance has ended. */
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
    this.#attempts = new StepAttempts(context, identity, workflow, this.state, this.#writer, this.#releaseQueue, this)
    this.completion = new RunCompletion(context, identity, this.state, this.#writer, this.#releaseQueue, this.#attempts, this)
    this.#timers = new InstanceTimers(context, this.state, this.#writer, this.#attempts, this)
    this.#messageHandler = new MessageHandler(this.state, this.#writer, this.#releaseQueue, this)
    this.#recorder = new AskRecorder(context, this.state, this.#writer, this.#attempts, this)
    const parts = { state: this.state, completion: this.completion, timers: this.#timers, hooks: this.#hooks, releaseQueue: this.#releaseQueue }
    this.projection = new RowProjection(context, { identity, ...parts, attempts: this.#attempts, writer: this.#writer, inputs: this.#inputs })
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
    return { handle: (isGated) => this.#messageHandler.handle(message, isGated && !this.projection.isDelayed) }
  }

  resume(messages: readonly IncomingMessage[]): void {
    this.#attempts.resume()
    this.#inputs.unshift(messages.map((message) => this.#inputOf(message)))
  }

  get tasks(): TaskAttempts {
    return this.#attempts.tasks
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

  onLost(result: Exclude<CommitResult, "committed">): void {
    if (!this.isGone) this.#context.onLost(this, typeof result === "object" ? result.error : undefined)
  }

  /** Begins a new instance. Its code runs up to its first asks, and one turn creates the instance and records these asks. */
  create({ start, within }: StartSpec, onCreated: (result: CommitResult) => void): void {
    this.record(start)
    const { draft } = this.#writer
    draft.create = this.identity
    draft.within = within
    draft.onResult = onCreated
    this.#context.macrotaskQueue.enqueue(this)
  }

  /** Begins with an instance from the store: its journal is replayed, then it continues. `crashed`: its last worker died while the instance was active. */
  load(row: InstanceRow, { recorded, lastTurn, textLength, childResults, missingTasks }: LoadedInstance, crashed: boolean): void {
    this.textLength = textLength
    this.activeAt = this.#context.host.now()
    for (const item of recorded) {
      this.state.apply(item)
      this.#releaseQueue.push(item)
    }
    for (const message of childResults) this.#inputs.push(this.#inputOf(message))
    this.#writer.restore(row, this.state.position, lastTurn, this.#timers.awaitsWallClock)
    this.projection.restore(row)
    if (row.dueAt === undefined) this.#hooks?.markHandled()
    this.#releaseQueue.markReplay()
    this.#mustRecoverSteps = true
    if (missingTasks.size > 0) this.tasks.missing = missingTasks
    this.state.isLoadedPaused = this.state.isPaused
    this.#inboxBeforeStart = new InboxBeforeStart()
    if (this.state.ended || this.state.stalled) return
    // The cancel was recorded without a worker. Its grace begins with this entry, because only now the code can clean up.
    if (!crashed && this.state.cancel && this.state.cancel.graceFrom === undefined) this.record({ type: "rested" })
    if (!crashed) return
    this.record({ type: "recovered", worker: this.#context.workerName })
    if (this.state.crashes > this.#context.settings.recoveriesMax) {
      this.#stall("TOO_MANY_CRASHES", `the worker died ${this.state.crashes} times in a row while it ran this instance; fix what kills it, then resume`)
    }
    this.#inboxBeforeStart.recordCrash(this.#writer, () => this.#context.macrotaskQueue.enqueue(this))
  }

  /** There are messages or inputs that no turn has consumed yet. */
  get hasInputs(): boolean {
    return this.isInboxDirty || this.#inputs.size > 0
  }

  /** The instance exists in the store, and no turn is being written or gathered. */
  get isSettledInStore(): boolean {
    return this.#writer.isDurable(1) && this.#writer.idle
  }

  /** The instance has nothing to do and no attempt runs: it may leave memory. */
  get idle(): boolean {
    return this.isAtRest && this.#attempts.count === 0
  }

  /** At most steps are open whose functions wait for nested sleeps and waits. If the instance leaves memory, these functions run again later. */
  get isAtRest(): boolean {
    if (this.isQueued || this.#isAdvancing || this.hasInputs || this.#inboxBeforeStart?.blocksStart || this.#hooks?.isCalling || !this.#writer.idle)
      return false
    return this.#attempts.count === 0 || !this.state.isWorking
  }

  get attempts(): number {
    return this.#attempts.count
  }

  /** Takes messages of the inbox, in order, and skips those it has. `isAll`: the inbox has no more of them now. */
  receive(messages: readonly Message[], isAll = true): void {
    const wasDirty = this.isInboxDirty
    this.isInboxDirty = !isAll
    const fresh = messages.filter(({ seq }) => seq > this.#messageHandler.inboxSeen)
    this.#messageHandler.inboxSeen = fresh.at(-1)?.seq ?? this.#messageHandler.inboxSeen
    const isFirst = this.#inboxBeforeStart?.receive(fresh, isAll, this.#inputs, (message) => this.#inputOf(message))
    if (!isFirst) this.submit(...fresh.map((message) => this.#inputOf(message)))
    // The timeout of a wait may have been blocked until the inbox was read.
    if (wasDirty && !this.isGone) this.#context.macrotaskQueue.enqueue(this)
  }

  get acceptsDirectEvents(): boolean {
    return !this.isGone && this.idle && !this.#isGated && this.#releaseQueue.execution !== undefined && this.#releaseQueue.isQuiet
  }

  /** The instance leaves memory. Its attempts are told to stop, and nothing that they or the code still do has an effect. */
  drop(reason?: unknown): void {
    this.isGone = true
    this.#wakeUpTimer.stop()
    this.#attempts.abandon(reason ?? `instance "${this.id}" left memory`)
    this.#writer.abandon(reason)
  }

  pump(): void {
    if (this.isGone || this.#inboxBeforeStart?.blocksStart || this.#writer.isLocked || this.#writer.isReleasingSlots) return
    // An input that arrives during the loop is queued: it must not start a second loop inside this one.
    this.#isAdvancing = true
    try {
      this.#isAdvancing = this.#advance()
      if (this.#context.isOutOfRoom && this.isAtRest) this.#context.onAtRest()
    } catch (bug) {
      if (isCodecTrouble(bug) && !this.state.stalled) this.#stall(bug.code, `${bug.message}; then resume`)
      else this.#context.onLost(this, bug)
    }
  }

  /** True: an entry was released, and the loop continues after a macrotask. */
  #advance(): boolean {
    let drained = false
    for (;;) {
      if (this.projection.hasUnprocessed && !this.#writer.makeRoom()) return false
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
      if (this.projection.hasNoSlots && !this.#context.draining && this.#timers.fireDeadline()) continue
      if (this.state.ended || this.#context.draining || this.#attempts.isOutOfBudget || !this.#writer.correctRow()) break
    }
    this.#writer.seal()
    this.#updateTimers(drained)
    return false
  }

  /** All entries are released: records what the code asked for. True: the loop has more to do. */
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

  /** Nothing is released to the code: the instance is paused, stalled, ended, delayed or without slots, or the engine is closing. */
  get #isGated(): boolean {
    const { ended, stalled, isPaused } = this.state
    if (ended !== undefined || stalled !== undefined || isPaused) return true
    return this.#mustReload || this.projection.hasNoSlots || this.completion.hasContinued || this.#context.draining || this.projection.isDelayed
  }

  executionEnvironment(): ExecutionEnvironment {
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
    if (this.isGone || inputs.length === 0) return
    for (const input of inputs) this.#inputs.push(input)
    // The loop starts only when all of these inputs are queued.
    this.pumpNow()
  }

  /** Runs the loop now, unless it is running or waits for a macrotask anyway. */
  pumpNow(): void {
    if (!this.isQueued && !this.#isAdvancing) this.pump()
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

  onCommitted(draft: TurnDraft): void {
    this.textLength += draft.entries.length
    this.activeAt = draft.at
    if (this.isGone) return
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

  /** Only running step functions are left. Their end continues the loop by itself. */
  get #awaitsSteps(): boolean {
    if (this.#attempts.count === 0 || this.hasInputs || !this.#writer.isRowSettled || !this.#releaseQueue.isQuiet) return false
    return this.state.isWorking && !this.#isGated
  }

  /** Nothing is released to the code. The instance calls its hooks if there are any, and leaves memory. */
  #callHooksOrLeave(): void {
    // The message that woke the instance may still be in the inbox, so it is read first.
    if (this.isInboxDirty || !this.#writer.idle || this.#hooks?.isCalling || this.#attempts.count > 0) return
    const hooks = this.#hooks
    if (!hooks?.hasPending) {
      const row = this.projection.row()
      // The row is due for hooks that the workflow no longer has. This entry clears the due time, or the instance would be claimed again and again.
      if (this.#writer.row?.dueAt !== undefined && row.dueAt === undefined && (this.state.ended || this.state.stalled))
        this.record({ type: "hook.completed", hook: "none" })
      this.#writer.seal()
      if (row.owner === undefined && this.#writer.idle) this.#context.onIdle(this)
      return
    }
    const dueAt = hooks.callIfDue(this, this.#writer)
    if (dueAt !== undefined) this.#wakeUpTimer.setTo(dueAt)
  }

  /** Sets the wake-up timer and the grace for the state in which the loop has stopped. */
  #updateTimers(drained: boolean): void {
    // Before the code has seen all entries, no timer can fire.
    this.#wakeUpTimer.setTo(drained && !this.#timers.isBlocked ? this.#timers.nextCheckAt : undefined)
    if (this.#isGated) return this.#callHooksOrLeave()
    if (!drained) return
    if (!this.#isStuck) return this.#wakeUpTimer.endGrace()
    this.#wakeUpTimer.startGrace(() => {
      if (this.#isStuck) this.#stall("FOREIGN_AWAIT", "the code waits for something that does not come from ctx; await only what ctx gives, then resume")
    })
  }

  /** The code has no open ask and has not ended, so nothing can continue it. A cancelled instance is not stuck: it ends with the cancel grace. */
  get #isStuck(): boolean {
    return this.#releaseQueue.hasNothingPending && !this.state.cancel && this.#attempts.count === 0 && this.#writer.idle
  }
}
