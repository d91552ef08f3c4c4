import type { Turn, TurnOutcome } from "../../../ports/journal-store.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { turnSequenceKey } from "../../shared/turn.ts"
import { text } from "../reads/columns.ts"
import type { Database, Queries } from "../connection/database.ts"
import type { FlowSession } from "../flow-control/flow-session.ts"
import type { PushedMessages } from "../notifications/pushed-messages.ts"
import type { ListenConnectionCalls } from "../notifications/listen-connection-calls.ts"
import { writeSingleTurn } from "./single-turn-writer.ts"
import type { FlowTransactions } from "../flow-control/flow-transactions.ts"
import { isTaken } from "../connection/postgres-failure.ts"
import { inRounds, writeRounds } from "./rounds.ts"
import { outcomeOf, writeTurns, type Written } from "./turn-batch-writer.ts"
import { type WriteChoice, WriteStrategy } from "./write-strategy.ts"

/** Commits turns in the way that `WriteStrategy` chooses. */
export class TurnCommitter {
  readonly #database: Database
  readonly #calls: ListenConnectionCalls
  readonly #flow: FlowTransactions
  readonly #pushed: PushedMessages
  readonly #strategy = new WriteStrategy()

  constructor(database: Database, calls: ListenConnectionCalls, flow: FlowTransactions, pushed: PushedMessages) {
    this.#database = database
    this.#calls = calls
    this.#flow = flow
    this.#pushed = pushed
  }

  async commit(turns: readonly Turn[]): Promise<readonly TurnOutcome[]> {
    const unconfirmed = turns.filter((turn) => this.#pushed.hasUnconfirmed(turn))
    const outcomes = await (unconfirmed.length === 0 ? this.#commit(turns) : this.#confirmAndCommit(turns, unconfirmed))
    // Turns whose commit failed may be sent again, and their messages are unconfirmed then, too.
    this.#pushed.settle(turns)
    return outcomes
  }

  /** The instance was claimed with limits. */
  noteLimited(id: string): void {
    this.#strategy.noteLimited(id)
  }

  /** Some turns consume messages that may not be in the inbox. Such a turn is lost: another turn has consumed the message, or the message never was there. */
  async #confirmAndCommit(turns: readonly Turn[], unconfirmed: readonly Turn[]): Promise<readonly TurnOutcome[]> {
    const [turn] = turns
    // The function for a single turn checks the inbox itself.
    if (turns.length === 1 && turn && (await this.#database.persistently(() => writeSingleTurn(this.#calls, turn)))) return ["committed"]
    const confirmed = new Set(await this.#database.persistently(() => this.#pushed.confirmed(this.#database, this.#database, unconfirmed)))
    const refused = new Set(unconfirmed.filter((each) => !confirmed.has(each)).map(turnSequenceKey))
    const accepted = turns.filter((each) => !refused.has(turnSequenceKey(each)))
    const outcomes = accepted.length === 0 ? [] : await this.#commit(accepted)
    let next = 0
    return turns.map((each) => (refused.has(turnSequenceKey(each)) ? "lost" : (outcomes[next++] ?? "lost")))
  }

  async #commit(turns: readonly Turn[]): Promise<readonly TurnOutcome[]> {
    const choice = this.#strategy.choose(turns)
    const withoutLocks = choice.turns.length === 0 ? [] : await this.#database.persistently(() => this.#writeWithoutLocks(choice))
    let next = 0
    const written = turns.map((turn): Written => (choice.underLocks.has(turn) ? "flow" : (withoutLocks[next++] ?? "lost")))
    const leftOver = turns.filter((_, at) => written[at] === "flow")
    if (leftOver.length === 0) return written.map(outcomeOf)
    const underLocks = await this.#database.persistently(() => this.#writeUnderLocks(leftOver))
    next = 0
    return written.map((outcome) => outcomeOf(outcome === "flow" ? (underLocks[next++] ?? "lost") : outcome))
  }

  async #writeWithoutLocks({ method, turns, rounds }: WriteChoice): Promise<readonly Written[]> {
    const database = this.#database
    if (method === "plain batch") return database.transaction((queries) => writeRounds(queries, database, turns, rounds, undefined))
    const [turn] = turns
    if (method === "single" && turn) {
      if (await writeSingleTurn(this.#calls, turn)) return ["written"]
      this.#strategy.noteNotSingle(turn)
    }
    try {
      return await writeTurns(database, database, turns, "fresh")
    } catch (error) {
      if (!isTaken(error)) throw error
      return writeTurns(database, database, turns, "plain")
    }
  }

  async #writeUnderLocks(turns: readonly Turn[]): Promise<readonly Written[]> {
    return this.#flow.transaction(
      (queries) => this.limitedWorkflows(queries, turns),
      (session, queries) => this.write(session, queries, turns),
    )
  }

  /** Writes within a transaction of the caller that has the locks of all workflows of instances with limits among the turns. */
  async write(session: FlowSession, queries: Queries, turns: readonly Turn[]): Promise<readonly Written[]> {
    return writeRounds(queries, this.#database, turns, inRounds(turns), session)
  }

  /** The workflows of those instances of the turns that have limits. */
  async limitedWorkflows(queries: Queries, turns: readonly Turn[]): Promise<readonly string[]> {
    const rows = await queries.all(
      "limited-of",
      `SELECT DISTINCT i.workflow FROM ${this.#database.schema}.instance i WHERE i.id = ANY ($1::text[]) AND i.limits IS NOT NULL`,
      turns.map(({ instance }) => toText(instance)),
    )
    return rows.map((row) => text(row, "workflow"))
  }
}
