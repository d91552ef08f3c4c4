import type { Encoded, Payload } from "../../core/values/value-codec.ts"
import { PerdureError } from "../../core/errors.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { Entry, EntryOf, Recorded } from "../../core/journal/journal.ts"
import { storedPayload } from "../../core/values/encoded-payload.ts"
import type { Sql } from "../../core/workflow/transaction-sql.ts"
import type { NewInstance, RowState } from "../../ports/journal-store.ts"
import type { ClientTransaction, Transactions, Undone } from "../../ports/transactions.ts"
import type { CommitListener, CommitResult } from "../worker/group-committer.ts"
import { isSameRow } from "./row-projection.ts"
import type { RunnerContext } from "./runner-context.ts"
import { TurnDraft, type AfterCommit } from "./turn-draft.ts"
import type { InstanceRunner } from "./instance-runner.ts"

/**
 * Writes the journal of one resident instance, turn by turn.
 *
 *   record ──> draft ──seal──> in flight ──committed──> durable: the actions that waited for this turn run
 *                                        ──lost───────> the runner is dropped, and the worker loads the instance again
 *                                        ──error──────> the same turn is sent again, up to `retriesMax` times
 *
 * The commit rule: recorded entries change the state in memory at once, and the code may continue with them. But nothing of them has an effect outside of
 * memory before their turn is durable: step functions begin, nested results are delivered and callers are answered after the commit (`whenDurable`).
 *
 * The fence: a turn names its first position and the id of the turn before it (`follows`). The store accepts only a turn that continues its journal
 * exactly there. If two workers believe that they own the instance, one turn is committed and the other one is lost, so a journal never mixes two
 * histories. Leases and clocks only decide who tries.
 *
 * One turn is in flight at a time, so the order of turns does not depend on the store. Entries that are recorded meanwhile join the next turn. A turn may be
 * sent twice, because it has an id: if the store has it already, the store answers `committed` and writes nothing.
 */
export class TurnWriter implements CommitListener {
  readonly #context: RunnerContext
  readonly #identity: NewInstance
  readonly #state: InstanceState
  readonly #runner: InstanceRunner
  #draft: TurnDraft | undefined
  #inFlight: TurnDraft | undefined
  /** How many writes of the turn in flight have failed. */
  #failures = 0
  #row: RowState | undefined
  /** The row after the turn in flight. */
  #nextRow: RowState | undefined
  #durablePosition = 0
  /** The id of the last turn that is known to be written; undefined before the instance is created. */
  #lastTurn: string | undefined
  #isLocked = false
  /** The last row was computed before the code had seen all entries of its turn, so the row may be out of date. */
  #isRowProvisional = false

  constructor(context: RunnerContext, identity: NewInstance, state: InstanceState, runner: InstanceRunner) {
    this.#context = context
    this.#identity = identity
    this.#state = state
    this.#runner = runner
  }

  get idle(): boolean {
    return this.#draft === undefined && this.#inFlight === undefined && !this.#isLocked
  }

  /** Nothing is left to be written, and the row in the store is up to date. */
  get isRowSettled(): boolean {
    return this.idle && !this.#isRowProvisional
  }

  /**
   * Sets the row in the store and the end of the journal there: the position of the last entry and the id of the last turn. `isDueEarly`: the due time of
   * the row has come, but nothing is to be done yet. The row has to be corrected, or the instance is claimed again at once.
   */
  restore(row: RowState, position: number, lastTurn: string, isDueEarly: boolean): void {
    this.#row = row
    this.#durablePosition = position
    this.#lastTurn = lastTurn
    this.#isRowProvisional = row.status === "running" || isDueEarly
  }

  /** The row in the store; undefined before the instance is created. */
  get row(): RowState | undefined {
    return this.#row
  }

  isDurable(position: number): boolean {
    return position <= this.#durablePosition
  }

  /** The turn that the next entries join. */
  get draft(): TurnDraft {
    this.#draft ??= this.#newDraft()
    return this.#draft
  }

  #newDraft(): TurnDraft {
    return new TurnDraft(this.#state.position + 1, Math.max(this.#state.at, this.#context.host.now()), this.#context.settings.codecs)
  }

  /** When a duration that is asked for now begins. The time of a turn is not used: it is never before the last entry, even if the clock was set back. */
  get now(): number {
    return this.#context.host.now()
  }

  /** A timer that is due then cannot join the current draft, whose time is before. */
  isBehind(dueAt: number): boolean {
    return this.#draft !== undefined && this.#draft.at < dueAt
  }

  record(entry: Entry): Recorded {
    const { draft } = this
    const run = entry.type === "run.started" ? entry.run : this.#state.run
    const recorded: Recorded = { position: this.#state.position + 1, run, at: draft.at, entry }
    draft.add(entry)
    this.#state.apply(recorded)
    return recorded
  }

  /** The value of a message, as it is stored. */
  payloadOf(stored: Encoded, isSensitive: boolean | undefined): Payload {
    return storedPayload(stored, this.#context.settings.codecs, isSensitive)
  }

  /** The turn also writes the tags and the memo into the row, where every client can read them. */
  annotate({ tags, value }: EntryOf<"annotated">): void {
    if (tags) this.draft.tags = tags
    if (value) this.draft.memo = this.draft.stored(value)
  }

  /** Runs `then` once all entries that are recorded so far are durable. */
  whenDurable(then: AfterCommit): void {
    const last = this.#draft ?? this.#inFlight
    if (last) last.whenCommitted(then)
    else then.afterCommit()
  }

  /**
   * Submits the draft, unless there is none, another turn is in flight, or a transaction has locked the writer. `isRowProvisional`: the code has not seen
   * all entries of the turn yet, so its row is checked again later (`correctRow`).
   */
  seal(isRowProvisional = false): void {
    const draft = this.#draft
    if (draft === undefined || this.#inFlight || this.#isLocked) return
    this.#draft = undefined
    this.#inFlight = this.#sealed(draft)
    this.#failures = 0
    this.#isRowProvisional = isRowProvisional
    this.#context.committer.submit(draft, this)
  }

  /** Submits a draft that has grown long. False: the draft is full and the turn before it is still in flight, so nothing may be recorded now. */
  makeRoom(): boolean {
    if (this.#draft?.isLong !== true) return true
    this.seal(true)
    return this.#draft === undefined
  }

  #sealed(draft: TurnDraft): TurnDraft {
    const row = this.#runner.projection.row(this.#row)
    const state = this.#row && (row === this.#row || isSameRow(this.#row, row)) ? undefined : row
    this.#nextRow = row
    draft.by = this.#context.workerName
    return draft.seal(this.#context.nextTurnId(), this.#identity, this.#state.run, state, this.#lastTurn)
  }

  /** A transaction is running: nothing may be recorded. */
  get isLocked(): boolean {
    return this.#isLocked
  }

  /** The turn in flight releases the instance and its slots. Inputs that arrive now are for the worker that claims the instance next. */
  get isReleasingSlots(): boolean {
    return this.#inFlight !== undefined && this.#nextRow?.owner === undefined && this.#identity.flow?.limits !== undefined
  }

  /** Locks the writer for `transact`. False: a turn is in flight, so the caller has to wait for it. */
  lock(): boolean {
    if (this.#inFlight === undefined) this.#isLocked = true
    return this.#isLocked
  }

  /** Locks the writer for `commitWith`, whose turn has only its own entry: a draft is submitted first. False: a turn is in flight. */
  sealAndLock(): boolean {
    if (this.#draft !== undefined) this.seal(true)
    return this.lock()
  }

  /** The transaction wrote nothing: the instance continues as it was before. */
  unlock(): void {
    this.#isLocked = false
    if (!this.#runner.isGone) this.#context.macrotaskQueue.enqueue(this.#runner)
  }

  /** Runs `then` once the turn in flight is durable. */
  whenWritten(then: AfterCommit): void {
    this.#inFlight?.whenCommitted(then)
  }

  /**
   * Writes one turn, the draft and the entry that `make` returns, in one transaction with the rows that `make` writes. The state, the draft and the release
   * queue change only after the commit, so a failed transaction leaves no trace in memory. The promise rejects if nothing was written, and stays pending if
   * the instance is lost.
   */
  async transact(transactions: Transactions, make: (sql: Sql) => Entry): Promise<void> {
    let made: { readonly entry: Entry; readonly turn: TurnDraft } | undefined
    try {
      const outcome = await this.#context.committer.transact(transactions, (sql) => {
        if (this.#runner.isGone) throw new PerdureError("INSTANCE_ENDED", `instance "${this.#identity.id}" has left memory`)
        const entry = make(sql)
        made = { entry, turn: this.#sealed((this.#draft ?? this.#newDraft()).withEntry(entry)) }
        return made.turn
      })
      if (made !== undefined && outcome === "committed") this.#transacted(made.turn, made.entry)
      else if (!this.#runner.isGone) this.#runner.onLost("lost")
    } catch (error) {
      this.#isLocked = false
      if (!this.#runner.isGone) {
        const isAsBefore = made === undefined || PerdureError.is(error, "SQL_FAILED")
        if (!isAsBefore) this.#runner.onLost({ error })
        else {
          // Inputs that waited for the end of the transaction continue.
          this.#context.macrotaskQueue.enqueue(this.#runner)
          throw error
        }
      }
    }
    if (this.#runner.isGone) await never
  }

  /** Writes a turn with this entry in the transaction that the step's function has used, and commits it. The result says why nothing was written; undefined: committed. */
  async commitWith(transaction: ClientTransaction, entry: Entry): Promise<Undone | undefined> {
    const turn = this.#sealed(this.#newDraft().withEntry(entry))
    try {
      const outcome = await this.#context.committer.writeAlone(() => transaction.commit(turn))
      if (typeof outcome === "object") {
        this.unlock()
        if (!this.#runner.isGone) return outcome
      } else if (outcome === "committed") this.#transacted(turn, entry)
      else if (!this.#runner.isGone) this.#runner.onLost("lost")
    } catch (error) {
      if (!this.#runner.isGone) this.#runner.onLost({ error })
    }
    if (this.#runner.isGone) await never
    return undefined
  }

  #transacted(turn: TurnDraft, entry: Entry): void {
    this.#isLocked = false
    if (this.#runner.isGone) return
    this.#draft = undefined
    this.#isRowProvisional = true
    turn.onResult?.("committed")
    const recorded: Recorded = { position: turn.end, run: this.#state.run, at: turn.at, entry }
    this.#state.apply(recorded)
    this.#runner.onTransacted(recorded)
    this.#written(turn)
  }

  /** Called when the code has seen all entries and nothing is left to record. True: the row was out of date, and a `rested` entry corrects it. */
  correctRow(): boolean {
    if (!this.#isRowProvisional || !this.idle) return false
    this.#isRowProvisional = false
    if (this.#row === undefined || isSameRow(this.#row, this.#runner.projection.row(this.#row))) return false
    this.#runner.record({ type: "rested" })
    return true
  }

  /** The instance has left memory, so the draft is never written. A caller who waits for its result gets the reason. */
  abandon(reason: unknown): void {
    const onResult = this.#draft?.onResult
    if (onResult === undefined || this.#draft === undefined) return
    this.#draft.onResult = undefined
    onResult({ error: reason, unsent: true })
  }

  onResult(result: CommitResult): void {
    const draft = this.#inFlight
    if (draft === undefined) return
    // Retries would keep a caller waiting who waits for the result of this turn. The caller gets the error instead.
    if (typeof result === "object" && draft.onResult === undefined && this.#failures < retriesMax) return this.#submitLater(draft, result.error)
    this.#inFlight = undefined
    draft.onResult?.(result)
    // The caller deals with the error. The instance is loaded again, as if another worker had written the turn.
    if (result !== "committed") return this.#runner.onLost(draft.onResult ? "lost" : result)
    this.#written(draft)
  }

  #written(draft: TurnDraft): void {
    this.#row = this.#nextRow
    this.#durablePosition = draft.end
    this.#lastTurn = draft.turn
    if (draft.sends) this.#context.onSent(draft.sends)
    if (draft.tasks) this.#context.onTasksWritten(draft.tasks)
    try {
      this.#runner.onCommitted(draft)
    } catch (bug) {
      // A bug here must not affect the other instances of the batch.
      this.#runner.onLost({ error: bug })
    }
  }

  /** Sends the same turn again, under its id. So steps do not run again only because a disk was full for a while. */
  #submitLater(draft: TurnDraft, error: unknown): void {
    const { host, timers } = this.#context
    const { id } = this.#identity
    if (++this.#failures === 1) host.log.error(`a turn of instance "${id}" could not be written; trying again`, { instance: id, error })
    timers.after(Math.min(retryMs * 2 ** (this.#failures - 1), retryMsMax), () => {
      if (this.#runner.isGone) this.#inFlight = undefined
      else this.#context.committer.submit(draft, this)
    })
  }
}

const never = new Promise<never>(() => undefined)
const retryMs = 100
const retryMsMax = 5_000
/** These retries take some minutes. Then the instance is dropped from memory, and loaded again. */
const retriesMax = 40
