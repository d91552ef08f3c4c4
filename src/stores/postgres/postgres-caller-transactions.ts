import { PerdureError } from "../../core/errors.ts"
import type { TransactionClient } from "../../core/workflow/transaction-sql.ts"
import type { CallerTransactions, StoreWithin } from "../../ports/caller-transactions.ts"
import type { Turn, TurnOutcome } from "../../ports/journal-store.ts"
import { storeClosedError } from "../shared/store-error.ts"
import { toText } from "../shared/unsafe-text.ts"
import { CallerQueries } from "./connection/caller-queries.ts"
import type { Queries } from "./connection/database.ts"
import { FlowSession } from "./flow-control/flow-session.ts"
import { isCollision, isUndefinedFunction, postgresFailure, sqlStateOf } from "./connection/postgres-failure.ts"
import type { PostgresComponents } from "./postgres-components.ts"
import { deliver, deliverOrCreate, readInstance, readJournal, uniqueHolder } from "./turns/instance-queries.ts"
import { keepOrder } from "./reads/change-order.ts"
import { outcomeOf, writeTurns, type Written } from "./turns/turn-batch-writer.ts"

/**
 *   SAVEPOINT perdure_call      fails if no transaction is open
 *     what is started or sent
 *     NOTIFY                    arrives when the caller commits. The commit then takes a lock on the whole database; commits of the store do not
 *   RELEASE perdure_call        or ROLLBACK TO if the call failed: the rest of the caller's transaction stays
 */
export class PostgresCallerTransactions implements CallerTransactions {
  readonly #components: PostgresComponents
  /** Clients that are connected to this database. */
  readonly #known = new WeakSet<object>()
  /** The call that is under way on a client. Calls on one client wait for each other, because their savepoints must not overlap. */
  readonly #pending = new WeakMap<object, Promise<unknown>>()
  #identity: string | undefined

  /** `identity`: the identity of the database, if the role may read it. */
  constructor(components: PostgresComponents, identity: string | undefined) {
    this.#components = components
    this.#identity = identity
  }

  async within<T>(client: unknown, work: (store: StoreWithin) => Promise<T>): Promise<T> {
    if (!isClient(client))
      throw bad("transaction is no client of pg: it has no query method; give what pool.connect() gives, or an adapter with query(text, values)")
    const before = this.#pending.get(client) ?? Promise.resolve()
    const result = before.then(() => this.#call(client, work))
    this.#pending.set(
      client,
      result.catch(() => undefined),
    )
    return result
  }

  async #call<T>(client: TransactionClient, work: (store: StoreWithin) => Promise<T>): Promise<T> {
    if (this.#components.database.closed) throw storeClosedError()
    const queries = new CallerQueries(client)
    try {
      await queries.run("SAVEPOINT perdure_call")
    } catch (error) {
      throw this.#failure(error)
    }
    try {
      if (!this.#known.has(client)) await this.#recognise(queries)
      this.#known.add(client)
      const { notifier } = this.#components
      const store = new WithinCaller(this.#components, queries)
      const result = await work(store)
      if (store.hasWritten) await queries.get("notify", "SELECT pg_notify($1, $2)::text AS done", notifier.channel, notifier.callerPayload(store.hasTasks))
      await queries.run("RELEASE SAVEPOINT perdure_call")
      return result
    } catch (error) {
      // If this fails too, the transaction has failed anyway, and the caller's next statement says so.
      await queries.run("ROLLBACK TO SAVEPOINT perdure_call").catch(() => undefined)
      await queries.run("RELEASE SAVEPOINT perdure_call").catch(() => undefined)
      throw this.#failure(error)
    }
  }

  /** No worker would find a start in another database. */
  async #recognise(queries: Queries): Promise<void> {
    const theirs = await identityOf(queries)
    const ours = (this.#identity ??= await identityOf(this.#components.database))
    if (ours !== theirs)
      throw bad("the client of that transaction is connected to another database than this engine's; give one of the same database", {
        engine: ours,
        client: theirs,
      })
  }

  #failure(error: unknown): unknown {
    if (PerdureError.is(error)) return error
    const state = sqlStateOf(error)
    const why = state === undefined ? undefined : transactionErrors[state]
    if (why !== undefined) return bad(why, { postgresCode: state }, error)
    if (state === undefined && error instanceof Error && /not queryable|Client was closed|has ended/i.test(error.message))
      return bad("the client of that transaction is closed; call before you commit and give it back", {}, error)
    if (isUndefinedFunction(error)) {
      // The call does not wait for the functions: callers may hold all connections of the pool until their transactions end.
      this.#components.functionUse.createMissing()
      return new PerdureError(
        "STORE_FAILED",
        "the database lacked functions that this version of perdure calls, and they are being created again; roll your transaction back, and try it again",
        {
          details: { postgresCode: state },
          cause: error,
        },
      )
    }
    if (isCollision(error))
      return new PerdureError(
        "STORE_FAILED",
        `PostgreSQL rolled back because of a concurrent transaction (${state}); roll your transaction back, and repeat it`,
        {
          details: { postgresCode: state },
          cause: error,
        },
      )
    return postgresFailure(error, { server: "the caller's connection", statement: "a call in the caller's transaction" })
  }
}

const transactionErrors: Readonly<Record<string, string>> = {
  "25P01": "no transaction is open on the client: it was not begun, or has ended; call between BEGIN and COMMIT, and await the call",
  "25P02": "the transaction of that client has failed before; roll it back",
  "3B001": "the transaction was ended while the call was under way; await the call before COMMIT",
  "25006": "the transaction of that client is read-only; begin one that may write",
}

function bad(message: string, details: Record<string, unknown> = {}, cause?: unknown): PerdureError {
  return new PerdureError("BAD_TRANSACTION", message, { details, ...(cause === undefined ? undefined : { cause }) })
}

function isClient(client: unknown): client is TransactionClient {
  return typeof client === "object" && client !== null && "query" in client && typeof client.query === "function"
}

/** Names the server and the database, by whatever address they were reached. */
export async function identityOf(queries: Queries): Promise<string> {
  const row = await queries.get("identity", `SELECT current_database()::text || '@' || (SELECT system_identifier::text FROM pg_control_system()) AS name`)
  return String(row?.["name"])
}

class WithinCaller implements StoreWithin {
  hasWritten = false
  hasTasks = false
  readonly #components: PostgresComponents
  readonly #queries: CallerQueries
  readonly #schema: string

  constructor(components: PostgresComponents, queries: CallerQueries) {
    this.#components = components
    this.#queries = queries
    this.#schema = components.database.schema
  }

  readonly journal: StoreWithin["journal"] = {
    commit: (turns) => this.#commit(turns),
    readJournal: (id, from) => readJournal(this.#queries, this.#components.database, id, from),
  }

  readonly directory: StoreWithin["directory"] = {
    get: (id) => readInstance(this.#queries, this.#components.database, id),
    deliver: (messages) => this.#wrote(deliver(this.#queries, this.#components.database, messages)),
    deliverOrCreate: (message, create) => this.#wrote(deliverOrCreate(this.#queries, this.#components.database, message, create)),
  }

  readonly flow: StoreWithin["flow"] = {
    holder: (unique) => uniqueHolder(this.#queries, this.#components.database, unique),
  }

  async #commit(turns: readonly Turn[]): Promise<readonly TurnOutcome[]> {
    const { committer } = this.#components
    if (turns.some(({ tasks }) => tasks?.length)) this.hasTasks = true
    const changing = turns.filter(({ state, create }) => state !== undefined && create === undefined)
    // Read before any row is locked, because transactions with the locks of flow control wait for rows.
    const limited = changing.length === 0 ? [] : await committer.limitedWorkflows(this.#queries, changing)
    const written =
      limited.length === 0 ? await this.#wrote(writeTurns(this.#queries, this.#components.database, turns, "plain")) : await this.#writeLimited(turns, limited)
    const appended = turns.filter(({ position }, at) => position > 1 && written[at] === "written")
    if (appended.length > 0) await keepOrder(this.#queries, this.#schema, appended)
    return written.map(outcomeOf)
  }

  /**
   * The caller would keep the locks of flow control until its transaction ends, and no worker could claim instances with these limits meanwhile. An instance
   * that holds no slot and is not queued has nothing to release, so its turn is written without the locks. Once its row is locked, no other transaction can
   * change that. If an instance turns out to hold a slot, the turns are rolled back and written again under the locks.
   */
  async #writeLimited(turns: readonly Turn[], limited: readonly string[]): Promise<readonly Written[]> {
    await this.#requireFreshReads()
    await this.#queries.run("SAVEPOINT perdure_turns")
    const written = await this.#wrote(writeTurns(this.#queries, this.#components.database, turns, "with flow"))
    const counts = await this.#queries.all(
      "counts",
      `SELECT 1 AS one FROM ${this.#schema}.instance i
      WHERE i.id = ANY ($1::text[]) AND i.limits IS NOT NULL AND (i.held > 0 OR i.paid OR i.queued_for IS NOT NULL OR i.status <> 'queued')`,
      turns.map(({ instance }) => toText(instance)),
    )
    if (counts.length > 0) await this.#queries.run("ROLLBACK TO SAVEPOINT perdure_turns")
    await this.#queries.run("RELEASE SAVEPOINT perdure_turns")
    if (counts.length === 0) return written
    const session = await FlowSession.begin(this.#queries, this.#components.database, limited)
    return this.#wrote(this.#components.committer.write(session, this.#queries, turns))
  }

  /** Under its locks, flow control must read the current rows, and not the rows from when the transaction began. */
  async #requireFreshReads(): Promise<void> {
    const row = await this.#queries.get("isolation", "SELECT current_setting('transaction_isolation') AS level")
    if (row?.["level"] === "read committed") return
    throw bad(`a debounced start of a workflow with limits needs a transaction that is READ COMMITTED; this one is ${String(row?.["level"])}`)
  }

  async #wrote<T>(answer: Promise<T>): Promise<T> {
    this.hasWritten = true
    return answer
  }
}
