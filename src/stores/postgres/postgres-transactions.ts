import { setTimeout as delay } from "node:timers/promises"
import { PerdureError } from "../../core/errors.ts"
import type { Turn, TurnOutcome } from "../../ports/journal-store.ts"
import type { ClientTransaction, ClientTransactions, Undone } from "../../ports/transactions.ts"
import { integer } from "./reads/columns.ts"
import { boundedIdleness, type Connection } from "./connection/database.ts"
import { FlowSession } from "./flow-control/flow-session.ts"
import type { PostgresClient, PostgresResult } from "./connection/pg.ts"
import { Semaphore } from "./connection/semaphore.ts"
import { isCollision, isMisprepared, isUndefinedFunction, isUnreachable, sqlStateOf } from "./connection/postgres-failure.ts"
import { createFunctions } from "./schema/function-use.ts"
import type { PostgresComponents } from "./postgres-components.ts"
import { StepClient } from "./connection/step-client.ts"
import { outcomeOf, writeTurns, type Written } from "./turns/turn-batch-writer.ts"

/** How long a rollback may take before the connection is closed. */
const patienceMs = 5_000

/**
 *   BEGIN                         READ COMMITTED
 *     SAVEPOINT perdure_step
 *       what the user's function writes
 *     RELEASE perdure_step        fails if this is not the transaction that was begun, or if a statement in it has failed
 *     the turn
 *   COMMIT
 *
 * Transactions of steps take connections of the pool, but always leave connections for the engine's own writes.
 */
export class PostgresTransactions implements ClientTransactions {
  readonly #components: PostgresComponents
  readonly #semaphore: Semaphore

  constructor(components: PostgresComponents, connections: number) {
    this.#components = components
    this.#semaphore = new Semaphore(Math.max(1, Math.floor((connections - 1) / 2)))
  }

  async begin(): Promise<ClientTransaction> {
    await this.#semaphore.acquire()
    try {
      const connection = await this.#components.database.connect()
      try {
        const results: unknown = await connection.client.query("BEGIN ISOLATION LEVEL READ COMMITTED; SAVEPOINT perdure_step; SELECT pg_backend_pid() AS pid")
        const pid = integer((results as readonly PostgresResult[]).at(-1)?.rows[0] ?? {}, "pid")
        return new PostgresTransaction(this.#components, connection, pid, () => this.#semaphore.release())
      } catch (error) {
        connection.release(error as Error)
        throw error
      }
    } catch (error) {
      this.#semaphore.release()
      throw error
    }
  }
}

class PostgresTransaction implements ClientTransaction {
  readonly #components: PostgresComponents
  readonly #connection: Connection
  readonly #pid: number
  readonly #step: StepClient
  readonly #onRelease: () => void
  #admitted: readonly string[] = []
  #lostBy: unknown
  #isOver = false

  constructor(components: PostgresComponents, connection: Connection, pid: number, onRelease: () => void) {
    this.#components = components
    this.#connection = connection
    this.#pid = pid
    this.#step = new StepClient(connection.client)
    this.#onRelease = onRelease
  }

  get client(): PostgresClient {
    return this.#step.client
  }

  get lostBy(): unknown {
    return this.#lostBy ?? this.#connection.brokenBy
  }

  async commit(turn: Turn): Promise<TurnOutcome | Undone> {
    this.#step.close()
    const { client } = this.#connection
    let outcome: TurnOutcome
    try {
      // The user's function may wait between two statements; the statements that follow are the store's, and may not.
      await client.query(`RELEASE SAVEPOINT perdure_step; ${boundedIdleness}`)
    } catch (error) {
      await this.rollBack()
      return undone(error)
    }
    try {
      outcome = outcomeOf(await this.#write(turn))
    } catch (error) {
      await this.rollBack()
      if (isUndefinedFunction(error)) return this.#afterMissingFunctions(error)
      // The turn collided with another transaction. The user's function did nothing wrong.
      return isCollision(error) ? { undoneBy: error, isOutage: true } : undone(error)
    }
    if (outcome === "lost") {
      await this.rollBack()
      return outcome
    }
    try {
      const { command } = (await client.query("COMMIT")) as PostgresResult & { readonly command?: string }
      if (command === "ROLLBACK") throw new PerdureError("SQL_FAILED", "PostgreSQL rolled the transaction back instead of committing it")
    } catch (error) {
      const isKnown = PerdureError.is(error) || (sqlStateOf(error) !== undefined && !isUnreachable(error))
      this.#release(isKnown ? undefined : (error as Error))
      if (isKnown) return undone(error)
      // The turn may be written.
      this.#notify(turn)
      throw error
    }
    this.#release()
    this.#notify(turn)
    return outcome
  }

  /** The functions were dropped, because no process had noted their use for a long time. The transaction is tried again with new ones. */
  async #afterMissingFunctions(undoneBy: unknown): Promise<Undone> {
    try {
      await createFunctions(this.#components.database)
      return { undoneBy, isOutage: true }
    } catch (error) {
      return undone(error)
    }
  }

  #notify(turn: Turn): void {
    const { notifier, flow } = this.#components
    notifier.pushedMessages.settle([turn])
    notifier.turnsCommitted([turn])
    flow.notifyAdmitted(this.#admitted)
  }

  async rollBack(): Promise<void> {
    if (this.#isOver) return
    const wasBusy = this.#step.isBusy
    this.#step.close()
    const { client, brokenBy } = this.#connection
    if (brokenBy) return this.#release(brokenBy)
    try {
      // The server process belongs to this transaction until it ends, also behind a pooler.
      if (wasBusy) await this.#components.database.get("cancel", "SELECT pg_cancel_backend($1::int)", this.#pid)
      const late = new AbortController()
      const isDone = await Promise.race([client.query("ROLLBACK").then(() => true), delay(patienceMs, false, { signal: late.signal }).catch(() => false)])
      late.abort()
      if (!isDone) throw new Error(`a transaction was not rolled back within ${patienceMs} ms`)
      this.#release()
    } catch (error) {
      if (isUnreachable(error)) this.#lostBy ??= error
      this.#release(error as Error)
    }
  }

  #release(error?: Error): void {
    this.#isOver = true
    this.#connection.release(error)
    this.#onRelease()
  }

  /** Writes the turn: under the locks of flow control if it changes the state of an instance with limits. */
  async #write(turn: Turn): Promise<Written> {
    const { queries } = this.#connection
    const { committer, database, notifier } = this.#components
    if (notifier.pushedMessages.hasUnconfirmed(turn)) {
      const confirmed = await notifier.pushedMessages.confirmed(queries, database, [turn])
      if (confirmed.length === 0) return "lost"
    }
    const limited = turn.state === undefined ? [] : await committer.limitedWorkflows(queries, [turn])
    if (limited.length === 0) return (await writeTurns(queries, database, [turn], "plain"))[0] ?? "lost"
    const session = await FlowSession.begin(queries, database, limited)
    const [written = "lost"] = await committer.write(session, queries, [turn])
    this.#admitted = session.admitted
    return written
  }
}

const spoiltTransaction = "25P02"
const noTransaction = new Set(["25P01", "3B001"])

function undone(cause: unknown): Undone {
  const state = sqlStateOf(cause)
  if (PerdureError.is(cause) && !isUnreachable(cause)) return { undoneBy: cause, isOutage: false }
  if (state === undefined || isUnreachable(cause) || isMisprepared(cause) || state === "53100") return { undoneBy: cause, isOutage: true }
  const message = cause instanceof Error ? cause.message : String(cause)
  const what =
    state === spoiltTransaction
      ? "a statement in the transaction failed, and its error was caught: PostgreSQL commits nothing after that; use a savepoint around what may fail"
      : noTransaction.has(state)
        ? "the transaction was ended inside its function; leave BEGIN, COMMIT and ROLLBACK to perdure"
        : `PostgreSQL refused to commit: ${message}`
  return { undoneBy: new PerdureError("SQL_FAILED", what, { details: { postgresCode: state }, cause }), isOutage: false }
}
