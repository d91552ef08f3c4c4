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
import type { SharedStoreState } from "./object-store.ts"

/** The journal of the object's own instance. Journals of other instances are read, and started, over RPC. */
export class ObjectJournal implements JournalStore {
  readonly #options: SharedStoreState

  constructor(options: SharedStoreState) {
    this.#options = options
  }

  get #local(): JournalStore {
    return this.#options.database.journal
  }

  async claim(request: ClaimRequest): Promise<readonly ClaimedInstance[]> {
    if (!this.#options.isThere()) return []
    const claimed = await this.#local.claim(request)
    // An instance that was not claimed may have been queued for a slot, which is a write.
    this.#options.afterWrite()
    return claimed
  }

  owned(worker: string): Promise<readonly string[]> {
    return this.#local.owned(worker)
  }

  unread(worker: string, limit: number): Promise<readonly string[]> {
    return this.#local.unread(worker, limit)
  }

  /** Writes nothing while the worker lives. No other worker can own this object's instance, so a lease in the database would cost a write and inform nobody. */
  async renew(worker: string, leaseMs: number): Promise<void> {
    this.#options.lease.worker = leaseMs === 0 ? undefined : worker
    if (leaseMs === 0) await this.#local.renew(worker, leaseMs)
  }

  async release(worker: string, ids: readonly string[]): Promise<void> {
    await this.#local.release(worker, ids)
    this.#options.afterWrite()
  }

  async commit(turns: readonly Turn[]): Promise<readonly TurnOutcome[]> {
    const [first] = turns
    // The committer never mixes turns of the object's own instance with turns of other instances.
    if (first !== undefined && this.#options.ownId() !== first.instance) return Promise.all(turns.map((turn) => this.#createElsewhere(turn)))
    const isPlain = turns.every(isAppendOnly)
    const { uniqueKeyCommits } = this.#options
    const missing = isPlain ? [] : await uniqueKeyCommits.missingKeys(turns)
    if (first?.create !== undefined) this.#options.beforeFirstWrite()
    this.#options.last.turn = undefined
    if (missing.length > 0) return uniqueKeyCommits.commit(turns, missing, () => this.#local.commit(turns))
    const outcomes = await this.#local.commit(turns)
    if (outcomes.at(-1) === "committed") this.#options.last.turn = turns.at(-1)
    // A turn that only appends entries changes neither the alarm nor what other objects have to know.
    if (!isPlain) this.#options.afterWrite()
    return outcomes
  }

  /** Creates an instance in the object that has its name. */
  async #createElsewhere(turn: Turn): Promise<TurnOutcome> {
    if (turn.within !== undefined && !(await this.#isLive(turn.within))) return "lost"
    return this.#options.network.peer(turn.instance).create(plainTurn(turn))
  }

  async #isLive({ instance, incarnation, run }: RunReference): Promise<boolean> {
    const row = await this.#options.directory.get(instance)
    return row?.incarnation === incarnation && row.run === run && !isTerminal(row.status)
  }

  async readJournal(id: string, from: number): Promise<readonly JournalRow[]> {
    if (this.#options.ownId() === id) return this.#readOwn(id, from)
    const peer = this.#options.network.peer(id)
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
    const { turn } = this.#options.last
    const isInLast = turn !== undefined && turn.instance === id && turn.position <= from && from < turn.position + turn.count
    return isInLast ? [turn] : this.#local.readJournal(id, from)
  }

  /** Only ids of the object's own instance are asked for. */
  readInbox(ids: readonly string[], part?: InboxPart): Promise<readonly Message[]> {
    return this.#local.readInbox(ids, part)
  }

  nextDueAt(offers: readonly Offer[]): Promise<number | undefined> {
    return this.#local.nextDueAt(offers)
  }
}

/** The turn as plain data, which RPC can send. `within` is left out: this object has checked the parent's run, and the other object cannot. */
function plainTurn(turn: Turn): Turn {
  const { position, count, run, at, entries, blobs, instance, incarnation, follows, create, state, tags, memo, sends, ifQueued } = turn
  return { turn: turn.turn, position, count, run, at, entries, blobs, instance, incarnation, follows, create, state, tags, memo, sends, ifQueued }
}
