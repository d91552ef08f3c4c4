import { isTerminal } from "../../core/journal/status.ts"
import type {
  ClaimedInstance,
  ClaimRequest,
  InboxPart,
  JournalRow,
  JournalStore,
  Message,
  Offer,
  RunReference,
  Turn,
  TurnOutcome,
} from "../../ports/journal-store.ts"
import { isAppendOnly } from "../../stores/shared/turn.ts"
import type { SharedStoreOptions } from "./object-store.ts"

/** The journal of the object's own instance; those of others are read, and begun, where they are. */
export class ObjectJournal implements JournalStore {
  readonly #parts: SharedStoreOptions

  constructor(parts: SharedStoreOptions) {
    this.#parts = parts
  }

  get #local(): JournalStore {
    return this.#parts.database.journal
  }

  async claim(request: ClaimRequest): Promise<readonly ClaimedInstance[]> {
    if (this.#parts.isThere?.() === false) return []
    const claimed = await this.#local.claim(request)
    // One that is not claimed may have been parked.
    this.#parts.onWritten()
    return claimed
  }

  owned(worker: string): Promise<readonly string[]> {
    return this.#local.owned(worker)
  }

  unread(worker: string, limit: number): Promise<readonly string[]> {
    return this.#local.unread(worker, limit)
  }

  /** Nobody else can be the worker of this object: to say that it lives would cost a write, and tell nobody anything. */
  async renew(worker: string, leaseMs: number): Promise<void> {
    this.#parts.lease.worker = leaseMs === 0 ? undefined : worker
    if (leaseMs === 0) await this.#local.renew(worker, leaseMs)
  }

  async release(worker: string, ids: readonly string[]): Promise<void> {
    await this.#local.release(worker, ids)
    this.#parts.onWritten()
  }

  async commit(turns: readonly Turn[]): Promise<readonly TurnOutcome[]> {
    const [first] = turns
    // The committer sends what is elsewhere on its own.
    if (first !== undefined && this.#parts.own() !== first.instance) return Promise.all(turns.map((turn) => this.#begin(turn)))
    const isPlain = turns.every(isAppendOnly)
    const { uniqueKeyCommits } = this.#parts
    const unique = isPlain || !uniqueKeyCommits ? [] : await uniqueKeyCommits.lacking(turns)
    if (first?.create !== undefined) this.#parts.onWriting?.()
    this.#parts.last.turn = undefined
    if (uniqueKeyCommits && unique.length > 0) return uniqueKeyCommits.commit(turns, unique, () => this.#local.commit(turns))
    const outcomes = await this.#local.commit(turns)
    if (outcomes.at(-1) === "committed") this.#parts.last.turn = turns.at(-1)
    // Nobody else is to hear of the others, and the object has to be awake as before.
    if (!isPlain) this.#parts.onWritten()
    return outcomes
  }

  /** An instance that begins in another object. */
  async #begin(turn: Turn): Promise<TurnOutcome> {
    if (turn.within !== undefined && !(await this.#isUnderWay(turn.within))) return "lost"
    return this.#parts.network.peer(turn.instance).create(plainTurn(turn))
  }

  async #isUnderWay({ instance, incarnation, run }: RunReference): Promise<boolean> {
    const row = await this.#parts.directory.get(instance)
    return row?.incarnation === incarnation && row.run === run && !isTerminal(row.status)
  }

  async readJournal(id: string, from: number): Promise<readonly JournalRow[]> {
    if (this.#parts.own() === id) return this.#readOwn(id, from)
    const peer = this.#parts.network.peer(id)
    const rows: JournalRow[] = []
    for (let position = from; ;) {
      const more = await peer.readJournal(position)
      const last = more.at(-1)
      if (last === undefined) return rows
      rows.push(...more)
      position = last.position + last.count
    }
  }

  async #readOwn(id: string, from: number): Promise<readonly JournalRow[]> {
    const { turn } = this.#parts.last
    const isInLast = turn !== undefined && turn.instance === id && turn.position <= from && from < turn.position + turn.count
    return isInLast ? [turn] : this.#local.readJournal(id, from)
  }

  /** Nobody asks for those of others. */
  readInbox(ids: readonly string[], part?: InboxPart): Promise<readonly Message[]> {
    return this.#local.readInbox(ids, part)
  }

  nextDueAt(offers: readonly Offer[]): Promise<number | undefined> {
    return this.#local.nextDueAt(offers)
  }
}

/** What goes to another object is data only. Whether its parent is under way has been seen to here: it does not know. */
function plainTurn(turn: Turn): Turn {
  const { position, count, run, at, entries, blobs, instance, incarnation, follows, create, state, tags, memo, sends, ifQueued } = turn
  return { turn: turn.turn, position, count, run, at, entries, blobs, instance, incarnation, follows, create, state, tags, memo, sends, ifQueued }
}
