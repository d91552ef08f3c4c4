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
 * Writes the journal of one resident instance: gathers entries into a turn, commits one turn at a time, and runs what had
 * to wait for its turn to be durable. What happens while a turn is being written joins the next.
 */
export class TurnWriter implements CommitListener {
  readonly #context: RunnerContext
  readonly #identity: NewInstance
  readonly #state: InstanceState
  readonly #runner: InstanceRunner
  #draft: TurnDraft | undefined
  #inFlight: TurnDraft | undefined
  /** How often the one in flight could not be written. */
  #failures = 0
  #row: RowState | undefined
  /** What the row says once the one in flight is written. */
  #nextRow: RowState | undefined
  #durablePosition = 0
  /** The id of the last turn that is known to be written; undefined before the instance is created. */
  #lastTurn: string | undefined
  #isLocked = false
  /** The row was written before the code saw what was recorded with it: it says less than is known since. */
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

  /** Nothing is left to be written, and the row says all that is known. */
  get isRowSettled(): boolean {
    return this.idle && !this.#isRowProvisional
  }

  /**
   * What the store says of the instance, and where its journal ends there: the position of the last entry and the id of the last turn. `isDueEarly`: the
   * row names a time that has come, and for which nothing is to be done yet. It has to be corrected, or the instance is claimed again at once.
   */
  restore(row: RowState, position: number, lastTurn: string, isDueEarly: boolean): void {
    this.#row = row
    this.#durablePosition = position
    this.#lastTurn = lastTurn
    this.#isRowProvisional = row.status === "running" || isDueEarly
  }

  /** What the store says of it. */
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

  /** From when on what is asked for now counts: not from the time of the turn, which is never before that of the last entry, wherever the clock was set. */
  get now(): number {
    return this.#context.host.now()
  }

  /** What is due then cannot join the turn that is gathering: its time is before. */
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

  /** A value that came from the store, as a message. */
  payloadOf(stored: Encoded, isSensitive: boolean | undefined): Payload {
    return storedPayload(stored, this.#context.settings.codecs, isSensitive)
  }

  /** What the code notes is for everybody to see, as soon as the turn is written. */
  annotate({ tags, value }: EntryOf<"annotated">): void {
    if (tags) this.draft.tags = tags
    if (value) this.draft.memo = this.draft.stored(value)
  }

  /** Runs `then` once all that is recorded so far is durable. */
  whenDurable(then: AfterCommit): void {
    const last = this.#draft ?? this.#inFlight
    if (last) last.whenCommitted(then)
    else then.afterCommit()
  }

  /** Hands the turn over, unless there is nothing in it or one is being written. `provisional`: the code has not seen yet what the row tells of. */
  seal(provisional = false): void {
    const draft = this.#draft
    if (draft === undefined || this.#inFlight || this.#isLocked) return
    this.#draft = undefined
    this.#inFlight = this.#sealed(draft)
    this.#failures = 0
    this.#isRowProvisional = provisional
    this.#context.committer.submit(draft, this)
  }

  /** A turn that has grown long is written before more joins it. False: the one before is being written still, which is to be waited for. */
  makeRoom(): boolean {
    if (this.#draft?.isLong !== true) return true
    this.seal(true)
    return this.#draft === undefined
  }

  #sealed(draft: TurnDraft): TurnDraft {
    const row = this.#runner.row(this.#row)
    const state = this.#row && (row === this.#row || isSameRow(this.#row, row)) ? undefined : row
    this.#nextRow = row
    draft.by = this.#context.worker
    return draft.seal(this.#context.nextTurnId(), this.#identity, this.#state.run, state, this.#lastTurn)
  }

  /** A transaction is under way: nothing is to be recorded. */
  get isLocked(): boolean {
    return this.#isLocked
  }

  /** The turn that is being written gives its slots back: what comes meanwhile is for whoever claims it next. */
  get isReleasingSlots(): boolean {
    return this.#inFlight !== undefined && this.#nextRow?.owner === undefined && this.#identity.flow?.limits !== undefined
  }

  /** To be called before `transact`. False: a turn is being written. */
  lock(): boolean {
    if (this.#inFlight === undefined) this.#isLocked = true
    return this.#isLocked
  }

  /** The same for a transaction whose turn is to have nothing in it but its own entry: what has gathered is written first. */
  sealAndLock(): boolean {
    if (this.#draft !== undefined) this.seal(true)
    return this.lock()
  }

  /** The transaction came to nothing, and all is as it was: what waited for its end may go on. */
  unlock(): void {
    this.#isLocked = false
    if (!this.#runner.isGone) this.#context.macrotaskQueue.enqueue(this.#runner)
  }

  /** Runs `then` once the turn that is being written is durable. */
  whenWritten(then: AfterCommit): void {
    this.#inFlight?.whenCommitted(then)
  }

  /**
   * Writes all that has gathered and the entry that `make` gives, in one transaction with what `make` writes. State, draft and pipeline
   * change only when it is committed. It rejects if nothing was written, and never ends if the instance is lost.
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
          // What waited for its end may go on.
          this.#context.macrotaskQueue.enqueue(this.#runner)
          throw error
        }
      }
    }
    if (this.#runner.isGone) await never
  }

  /** The same of a transaction whose function has done its part. It answers if nothing was written. */
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

  /** The code has seen all, and nothing came of it to be recorded. True: an entry of its own makes the row say so. */
  correctRow(): boolean {
    if (!this.#isRowProvisional || !this.idle) return false
    this.#isRowProvisional = false
    if (this.#row === undefined || isSameRow(this.#row, this.#runner.row(this.#row))) return false
    this.#runner.record({ type: "rested" })
    return true
  }

  /** What has only gathered is never written: whoever waits for it is told. */
  abandon(reason: unknown): void {
    const onResult = this.#draft?.onResult
    if (onResult === undefined || this.#draft === undefined) return
    this.#draft.onResult = undefined
    onResult({ error: reason, unsent: true })
  }

  onResult(result: CommitResult): void {
    const draft = this.#inFlight
    if (draft === undefined) return
    // Somebody who waits for the outcome is told rather than kept waiting.
    if (typeof result === "object" && draft.onResult === undefined && this.#failures < retriesMax) return this.#submitLater(draft, result.error)
    this.#inFlight = undefined
    draft.onResult?.(result)
    // Whoever waited for it deals with the error; for the instance it is as if the turn had never been.
    if (result !== "committed") return this.#runner.onLost(draft.onResult ? "lost" : result)
    this.#written(draft)
  }

  #written(draft: TurnDraft): void {
    this.#row = this.#nextRow
    this.#durablePosition = draft.end
    this.#lastTurn = draft.turn
    if (draft.sends) this.#context.onSent(draft.sends)
    try {
      this.#runner.onCommitted(draft)
    } catch (bug) {
      // A flaw of ours must not hold up the other instances of the batch.
      this.#runner.onLost({ error: bug })
    }
  }

  /** A turn may be sent again: it has a name. What was done for it need not be done again because a disk was full for a while. */
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
/** Some minutes. Then what is in memory is given up, and the instance is loaded again. */
const retriesMax = 40
