import type { InstanceState } from "../core/instance-state.ts"
import type { Entry, Recorded } from "../core/journal.ts"
import type { NewInstance } from "../ports/journal-store.ts"
import type { CommitListener, CommitResult } from "./committer.ts"
import { sameRow, type Row } from "./row-state.ts"
import type { Runtime } from "./runtime.ts"
import { TurnDraft, type AfterCommit } from "./turn-draft.ts"

/**
 * Writes the journal of one resident instance: gathers entries into a turn, commits one turn at a time, and runs what had
 * to wait for its turn to be durable. What happens while a turn is being written joins the next.
 */
export class TurnWriter implements CommitListener {
  readonly #runtime: Runtime
  readonly #identity: NewInstance
  readonly #state: InstanceState
  readonly #driver: WriterDriver
  #draft: TurnDraft | undefined
  #inFlight: TurnDraft | undefined
  /** How often the one in flight could not be written. */
  #failures = 0
  #row: Row | undefined
  /** What the row says once the one in flight is written. */
  #nextRow: Row | undefined
  #durable = 0

  constructor(runtime: Runtime, identity: NewInstance, state: InstanceState, driver: WriterDriver) {
    this.#runtime = runtime
    this.#identity = identity
    this.#state = state
    this.#driver = driver
  }

  get idle(): boolean {
    return this.#draft === undefined && this.#inFlight === undefined
  }

  /** What the store says of it, and how far its journal goes there. */
  restore(row: Row, position: number): void {
    this.#row = row
    this.#durable = position
  }

  /** What the store says of it. */
  get row(): Row | undefined {
    return this.#row
  }

  isDurable(position: number): boolean {
    return position <= this.#durable
  }

  /** The turn that the next entries join. */
  get draft(): TurnDraft {
    this.#draft ??= new TurnDraft(this.#state.position + 1, Math.max(this.#state.at, this.#runtime.host.now()))
    return this.#draft
  }

  /** From when on what is asked for now counts, also where it joins a turn that began to gather earlier. */
  get now(): number {
    return Math.max(this.draft.at, this.#runtime.host.now())
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

  /** Runs `then` once all that is recorded so far is durable. */
  whenDurable(then: AfterCommit): void {
    const last = this.#draft ?? this.#inFlight
    if (last) last.whenCommitted(then)
    else then.afterCommit()
  }

  /** Hands the turn over, unless there is nothing in it or one is being written. */
  seal(): void {
    const draft = this.#draft
    if (draft === undefined || this.#inFlight) return
    const row = this.#driver.row(this.#row)
    const state = this.#row && (row === this.#row || sameRow(this.#row, row)) ? undefined : row
    this.#draft = undefined
    this.#inFlight = draft.seal(this.#runtime.nextTurnId(), this.#identity, this.#state.run, state)
    this.#nextRow = row
    this.#failures = 0
    this.#runtime.committer.submit(draft, this)
  }

  /** What has only gathered is never written: whoever waits for it is told. */
  abandon(reason: unknown): void {
    const tell = this.#draft?.onResult
    if (tell === undefined || this.#draft === undefined) return
    this.#draft.onResult = undefined
    tell({ error: reason, unsent: true })
  }

  onResult(result: CommitResult): void {
    const draft = this.#inFlight
    if (draft === undefined) return
    // Somebody who waits for the outcome is told rather than kept waiting.
    if (typeof result === "object" && draft.onResult === undefined && this.#failures < retriesMax) return this.#submitLater(draft, result.error)
    this.#inFlight = undefined
    draft.onResult?.(result)
    // Whoever waited for it deals with the error; for the instance it is as if the turn had never been.
    if (result !== "committed") return this.#driver.onLost(draft.onResult ? "lost" : result)
    this.#row = this.#nextRow
    this.#durable = draft.end
    if (draft.sends) this.#runtime.onSent(draft.sends)
    try {
      this.#driver.onCommitted(draft)
    } catch (bug) {
      // A flaw of ours must not hold up the other instances of the batch.
      this.#driver.onLost({ error: bug })
    }
  }

  /** A turn may be sent again: it has a name. What was done for it need not be done again because a disk was full for a while. */
  #submitLater(draft: TurnDraft, error: unknown): void {
    const { host, timers } = this.#runtime
    const { id } = this.#identity
    if (++this.#failures === 1) host.log.error(`a turn of instance "${id}" could not be written; trying again`, { instance: id, error })
    timers.set(host.now() + Math.min(retryMs * 2 ** (this.#failures - 1), retryMsMax), () => {
      if (this.#driver.isGone) this.#inFlight = undefined
      else this.#runtime.committer.submit(draft, this)
    })
  }
}

const retryMs = 100
const retryMsMax = 5_000
/** Some minutes. Then what is in memory is given up, and the instance is loaded again. */
const retriesMax = 40

/** The runner of the instance, as its writer sees it. */
export interface WriterDriver {
  /** It has left memory: nothing more is to be written. */
  readonly isGone: boolean
  /** What the row should say once all that is recorded is written; the same object if it is what it says. */
  row(previous: Row | undefined): Row
  onCommitted(draft: TurnDraft): void
  onLost(result: Exclude<CommitResult, "committed">): void
}
