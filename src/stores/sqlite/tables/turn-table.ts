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
import type { TurnTasks } from "./turn-tasks.ts"
import type { TurnFlow } from "./turn-flow-port.ts"
import type { TurnBatch } from "./turn-batch.ts"

const createColumns = ["id", "incarnation", "workflow", "version", "created_at", "tags", "events", ...stateColumns, "updated_at"]

// Computed once: each Durable Object prepares its statements for one instance only.
const creation = (columns: readonly string[]) =>
  `INSERT INTO perdure_instance (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")}) ON CONFLICT (id) DO NOTHING`
const create = creation(createColumns)
const createWithMore = creation([...createColumns, ...traitColumns, "queue", "memo"])

export interface TurnTableOptions {
  readonly driver: SqlDriver
  readonly journal: JournalTable
  readonly inbox: InboxTable
  readonly flow: TurnFlow
  /** Undefined: the database has no task queues. No turn has tasks, but a turn may say that it ends all tasks. */
  readonly tasks?: TurnTasks | undefined
  readonly now: () => number
  readonly observer: TurnObserver | undefined
  readonly batch: TurnBatch | undefined
}

/** Writes one turn at a time, within a transaction of the caller. A turn has effects only if its journal row is inserted. */
export class TurnTable {
  readonly #journal: JournalTable
  readonly #inbox: InboxTable
  readonly #flow: TurnFlow
  readonly #tasks: TurnTasks | undefined
  readonly #keys: InstanceKeys
  readonly #now: () => number
  readonly #observer: TurnObserver | undefined
  /** Only in files, where one transaction writes turns of many instances. */
  readonly #batch: TurnBatch | undefined
  readonly #create: SqlStatement
  /** For instances with limits, a task queue or a memo, which most instances lack. */
  readonly #createWithMore: SqlStatement
  readonly #annotations: InstanceAnnotations
  readonly #setState: SqlStatement
  readonly #statusOfRun: SqlStatement

  constructor({ driver, journal, inbox, flow, tasks, now, observer, batch }: TurnTableOptions) {
    this.#observer = observer
    this.#batch = batch
    this.#journal = journal
    this.#inbox = inbox
    this.#flow = flow
    this.#tasks = tasks
    this.#now = now
    this.#keys = new InstanceKeys(driver)
    this.#create = driver.prepare(create)
    this.#createWithMore = driver.prepare(createWithMore)
    this.#annotations = new InstanceAnnotations(driver)
    this.#statusOfRun = driver.prepare(`SELECT status FROM perdure_instance WHERE id = ? AND incarnation = ? AND run = ?`)
    this.#setState = driver.prepare(`${stateChange} WHERE key = ?`)
  }

  write(turn: Turn): TurnOutcome {
    if (turn.create !== undefined) return this.#writeCreation(turn, turn.create)
    const known = this.#keys.find(turn.instance, turn.incarnation)
    if (known === undefined) return "lost"
    const { key } = known
    this.#batch?.beforeTurn(turn, known)
    if (!this.#isNextTurn(turn, known) || !this.#append(key, turn)) return this.#outcomeOf(key, turn)
    known.next = turn.position + turn.count
    known.lastTurn = turn.turn
    if (turn.consumed?.length) this.#inbox.consume(key, turn.consumed, this.#now())
    if (turn.discardInbox && !this.#batch?.hasNoMessages) this.#inbox.discard(key)
    if (turn.state !== undefined) this.#applyState(turn.state, turn.at, known)
    if (turn.tags !== undefined || turn.memo !== undefined) this.#annotations.write(key, turn)
    if ((turn.tasks ?? turn.endsTasks) !== undefined) this.#writeTasks(key, turn)
    if (turn.sends !== undefined) this.#send(turn.sends)
    this.#observer?.onTurn(turn)
    return "committed"
  }

  /** Whether the turn follows the end of the journal, and nothing that its writer does not know of has happened to the instance. */
  #isNextTurn({ position, follows, inboxSeen, by, ifQueued, state }: Turn, { key, next, lastTurn, hasLimits, hasUnique }: KnownInstance): boolean {
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

  #applyState(state: RowState, at: number, { key, hasLimits }: KnownInstance): void {
    const set = () => void this.#setState.run(...stateValues(state), at, key)
    if (hasLimits) this.#flow.applyState(key, state, set)
    else if (!this.#batch?.setState(key, state, at)) set()
  }

  /** Whether the turn is only a journal row, which one statement inserts. */
  isSingleRow(turn: Turn): boolean {
    return isInline(turn) && isAppendOnly(turn)
  }

  /** Calls `write`, which writes several turns. Files write these turns as a batch. */
  runBatch<T>(write: () => T): T {
    return this.#batch ? this.#batch.run(write) : write()
  }

  /** Call this at the start of each transaction that writes turns. */
  begin(): void {
    this.#keys.begin()
  }

  /** Call this when a transaction with turns failed, when instances were removed, and when an instance got limits. */
  clearCache(): void {
    this.#keys.clear()
  }

  #writeCreation(turn: Turn, create: NewInstance): TurnOutcome {
    const { id, incarnation, workflow, version, createdAt, flow, queue, events } = create
    // The workflow code may have changed the tags before the first turn was written.
    const { tags } = turn.tags === undefined ? create : { tags: turn.tags }
    const hasMore = flow !== undefined || queue !== undefined || turn.memo !== undefined
    if (turn.state === undefined) throw new Error("a creation lacks its state")
    if (turn.within ?? flow) this.#batch?.flush()
    if (turn.within !== undefined && !this.#isRunOpen(turn.within)) return this.#outcomeOfCreation(turn)
    const unique = flow?.unique ?? []
    if (unique.length > 0 && this.#keys.find(id, incarnation) === undefined && !this.#flow.areUniqueKeysFree(unique)) return "lost"
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
    this.#annotations.tag(key, createdAt, tags)
    if (!this.#append(key, turn)) throw new Error("a creation lacks its journal")
    if ((turn.tasks ?? turn.endsTasks) !== undefined) this.#writeTasks(key, turn)
    if (turn.sends !== undefined) this.#send(turn.sends)
    this.#observer?.onTurn(turn)
    return "committed"
  }

  #isRunOpen({ instance, incarnation, run }: RunReference): boolean {
    const row = this.#statusOfRun.get(toText(instance), toText(incarnation), run)
    return row !== undefined && !isTerminal(text(row, "status") as Status)
  }

  #writeTasks(key: number, turn: Turn): void {
    const { endsTasks, tasks = [] } = turn
    if (tasks.length > 0 && !this.#tasks) throw new Error("a turn has tasks, but its store has no task queues")
    if (endsTasks !== undefined) this.#tasks?.end(key, endsTasks, turn)
    for (const task of tasks) this.#tasks?.add(key, task, turn)
  }

  #send(messages: readonly NewMessage[]): void {
    this.#batch?.flush()
    for (const message of messages) {
      if (this.#observer) this.#observer.onMessage(message)
      else this.#inbox.deliver(message, this.#now())
    }
  }

  #outcomeOfCreation(turn: Turn): TurnOutcome {
    const existing = this.#keys.find(turn.instance, turn.incarnation)
    return existing === undefined ? "lost" : this.#outcomeOf(existing.key, turn)
  }

  #outcomeOf(key: number, turn: Turn): TurnOutcome {
    this.#batch?.flush()
    return this.#journal.isRecorded(key, turn) ? "committed" : "lost"
  }
}
