import { isTerminal, type Status } from "../../../core/journal/status.ts"
import type { RowState, NewInstance, NewMessage, RunReference, Turn, TurnOutcome } from "../../../ports/journal-store.ts"
import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import type { TurnObserver } from "../../../ports/cloudflare/turn-observer.ts"
import type { InboxTable } from "./inbox-table.ts"
import { InstanceKeys, type KnownInstance } from "./instance-keys.ts"
import { InstanceAnnotations } from "./instance-annotations.ts"
import { stateChange, stateColumns, stateValues, toEvents, toQueue, toTags, traitColumns, traitValues } from "./instance-row.ts"
import { isInline, type JournalTable } from "./journal-table.ts"
import { textOrNull, toText } from "../../shared/unsafe-text.ts"
import { isAppendOnly } from "../../shared/turn.ts"
import { text } from "../driver/sql-columns.ts"
import type { TurnFlow } from "./turn-flow-port.ts"
import type { TurnBatch } from "./turn-batch.ts"

const createColumns = ["id", "incarnation", "workflow", "version", "created_at", "tags", "events", ...stateColumns, "updated_at"]

// Made once: a Durable Object prepares its statements for one instance.
const creation = (columns: readonly string[]) =>
  `INSERT INTO perdure_instance (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")}) ON CONFLICT (id) DO NOTHING`
const create = creation(createColumns)
const createWithMore = creation([...createColumns, ...traitColumns, "queue", "memo"])

/** What turns are written into. */
export interface TurnTableOptions {
  readonly driver: SqlDriver
  readonly journal: JournalTable
  readonly inbox: InboxTable
  readonly flow: TurnFlow
  readonly now: () => number
  readonly observer: TurnObserver | undefined
  readonly batch: TurnBatch | undefined
}

/** Writes single turns within a transaction of its caller. All effects of a turn hang on its journal row being inserted. */
export class TurnTable {
  readonly #journal: JournalTable
  readonly #inbox: InboxTable
  readonly #flow: TurnFlow
  readonly #keys: InstanceKeys
  readonly #now: () => number
  readonly #observer: TurnObserver | undefined
  /** Where many instances write together. */
  readonly #batch: TurnBatch | undefined
  readonly #create: SqlStatement
  /** Most have no limits, no queue and no memo. */
  readonly #createWithMore: SqlStatement
  readonly #notes: InstanceAnnotations
  readonly #setState: SqlStatement
  readonly #run: SqlStatement

  constructor({ driver, journal, inbox, flow, now, observer, batch }: TurnTableOptions) {
    this.#observer = observer
    this.#batch = batch
    this.#journal = journal
    this.#inbox = inbox
    this.#flow = flow
    this.#now = now
    this.#keys = new InstanceKeys(driver)
    this.#create = driver.prepare(create)
    this.#createWithMore = driver.prepare(createWithMore)
    this.#notes = new InstanceAnnotations(driver)
    this.#run = driver.prepare(`SELECT status FROM perdure_instance WHERE id = ? AND incarnation = ? AND run = ?`)
    this.#setState = driver.prepare(`${stateChange} WHERE key = ?`)
  }

  write(turn: Turn): TurnOutcome {
    if (turn.create !== undefined) return this.#writeCreation(turn, turn.create)
    const known = this.#keys.of(turn.instance, turn.incarnation)
    if (known === undefined) return "lost"
    const { key } = known
    this.#batch?.beforeTurn(turn, known)
    if (!this.#mayFollow(turn, known) || !this.#append(key, turn)) return this.#outcomeOf(key, turn)
    known.next = turn.position + turn.count
    known.lastTurn = turn.turn
    if (turn.consumed?.length) this.#inbox.consume(key, turn.consumed, this.#now())
    if (turn.discardInbox && !this.#batch?.hasNoMessages) this.#inbox.discard(key)
    if (turn.state !== undefined) this.#setTo(turn.state, turn.at, known)
    if (turn.tags !== undefined || turn.memo !== undefined) this.#notes.write(key, turn)
    if (turn.sends !== undefined) this.#send(turn.sends)
    this.#observer?.onTurn(turn)
    return "committed"
  }

  /** Nothing has happened meanwhile that it does not know of. */
  #mayFollow({ position, follows, inboxSeen, by, ifQueued, state }: Turn, { key, next, lastTurn, hasLimits, hasUnique }: KnownInstance): boolean {
    return (
      position === next &&
      follows === lastTurn &&
      (inboxSeen === undefined || !this.#inbox.hasNewer(key, inboxSeen)) &&
      (!hasLimits || by === undefined || this.#flow.isOwnedBy(key, by)) &&
      (ifQueued !== true || this.#flow.isQueued(key)) &&
      (!hasUnique || state === undefined || this.#flow.updateUniqueKeys(key, state))
    )
  }

  #append(key: number, turn: Turn): boolean {
    return this.#batch?.append(key, turn) || this.#journal.append(key, turn)
  }

  #setTo(state: RowState, at: number, { key, hasLimits }: KnownInstance): void {
    const set = () => void this.#setState.run(...stateValues(state), at, key)
    if (hasLimits) this.#flow.applyState(key, state, set)
    else if (!this.#batch?.setState(key, state, at)) set()
  }

  /** One statement writes all of it. */
  isOneRow(turn: Turn): boolean {
    return isInline(turn) && isAppendOnly(turn)
  }

  /** Runs `write`, which writes several turns. */
  runBatch<T>(write: () => T): T {
    return this.#batch ? this.#batch.run(write) : write()
  }

  /** To be called first in a transaction with turns in it. */
  begin(): void {
    this.#keys.begin()
  }

  /** To be called when a transaction with turns in it failed, and when instances were removed. */
  forget(): void {
    this.#keys.forget()
  }

  #writeCreation(turn: Turn, create: NewInstance): TurnOutcome {
    const { id, incarnation, workflow, version, createdAt, flow, queue, events } = create
    // The code may have changed them before the instance was written.
    const { tags } = turn.tags === undefined ? create : { tags: turn.tags }
    const hasMore = flow !== undefined || queue !== undefined || turn.memo !== undefined
    if (turn.state === undefined) throw new Error("a creation lacks its state")
    if (turn.within ?? flow) this.#batch?.flush()
    if (turn.within !== undefined && !this.#isUnderWay(turn.within)) return this.#outcomeOfCreation(turn)
    const unique = flow?.unique ?? []
    if (unique.length > 0 && this.#keys.of(id, incarnation) === undefined && !this.#flow.areUniqueKeysFree(unique)) return "lost"
    const { changes, lastInsertRowid } = (hasMore ? this.#createWithMore : this.#create).run(
      toText(id),
      toText(incarnation),
      toText(workflow),
      toText(version),
      createdAt,
      toTags(tags),
      toEvents(events),
      ...stateValues(turn.state),
      turn.at,
      ...(hasMore ? [...traitValues(flow ?? {}), toQueue(queue), textOrNull(turn.memo)] : []),
    )
    if (changes === 0) return this.#outcomeOfCreation(turn)
    const key = Number(lastInsertRowid)
    const [next, lastTurn] = [turn.position + turn.count, turn.turn]
    this.#keys.remember(id, { incarnation, key, next, lastTurn, hasLimits: flow?.limits !== undefined, hasUnique: unique.length > 0 })
    if (unique.length > 0) this.#flow.takeUniqueKeys(unique, key)
    this.#notes.tag(key, createdAt, tags)
    if (!this.#append(key, turn)) throw new Error("a creation lacks its journal")
    if (turn.sends !== undefined) this.#send(turn.sends)
    this.#observer?.onTurn(turn)
    return "committed"
  }

  #isUnderWay({ instance, incarnation, run }: RunReference): boolean {
    const row = this.#run.get(toText(instance), toText(incarnation), run)
    return row !== undefined && !isTerminal(text(row, "status") as Status)
  }

  #send(messages: readonly NewMessage[]): void {
    this.#batch?.flush()
    for (const message of messages) {
      if (this.#observer) this.#observer.onMessage(message)
      else this.#inbox.deliver(message, this.#now())
    }
  }

  #outcomeOfCreation(turn: Turn): TurnOutcome {
    const existing = this.#keys.of(turn.instance, turn.incarnation)
    return existing === undefined ? "lost" : this.#outcomeOf(existing.key, turn)
  }

  #outcomeOf(key: number, turn: Turn): TurnOutcome {
    this.#batch?.flush()
    return this.#journal.isRecorded(key, turn) ? "committed" : "lost"
  }
}
