import type { Message } from "../../ports/journal-store.ts"
import type { Hint, Store, StoreContext, StoreRole } from "../../ports/store.ts"
import { adoptStream } from "./reads/change-stream-token.ts"
import { text } from "./reads/columns.ts"
import { Database } from "./connection/database.ts"
import { Notifier } from "./notifications/notifier.ts"
import { ensureFunctions, FunctionUse } from "./schema/function-use.ts"
import type { FunctionSet } from "./schema/function-set.ts"
import { migrate } from "./schema/migrate.ts"
import type { PgModule, PostgresClient, PostgresPool } from "./connection/pg.ts"
import { identityOf, PostgresCallerTransactions } from "./postgres-caller-transactions.ts"
import { PostgresDirectory } from "./postgres-directory.ts"
import { PostgresFlowControl } from "./postgres-flow-control.ts"
import { PostgresJournalStore } from "./postgres-journal-store.ts"
import { PostgresScheduleStore } from "./postgres-schedule-store.ts"
import { PostgresTransactions } from "./postgres-transactions.ts"
import { type PostgresComponents, createPostgresComponents } from "./postgres-components.ts"
import { isUnreachable, postgresFailure } from "./connection/postgres-failure.ts"
import { quotedSchema } from "./connection/schema-name.ts"
import { ServerClock } from "./connection/server-clock.ts"

interface Opening {
  readonly pool: PostgresPool
  /** Where the connection that listens comes from, if that is another; undefined: nobody listens. */
  readonly listenPool: PostgresPool | undefined
  /** Statements are prepared by name. */
  readonly prepares: boolean
  /** The pool is the user's, and stays open. */
  readonly isGiven: boolean
  readonly types: PgModule["types"]
  readonly schema: string
  readonly partitions?: number | undefined
  /** The functions of another version of the code: for tests. */
  readonly functionSet?: FunctionSet | undefined
  /** Where the database is, for people. */
  readonly server: string
  readonly context: StoreContext
}

/** Of a pool of `pg` that says nothing else. */
const connectionsUsual = 10

export async function openPostgresStore(opening: Opening): Promise<Store> {
  const { pool, listenPool, types, schema, server, context } = opening
  const database = new Database(pool, types, quotedSchema(schema), server, opening.prepares, opening.functionSet)
  const onError = (error: Error) => {
    // The pool hangs the whole connection on it, which nobody wants to read in a log.
    Reflect.deleteProperty(error, "client")
    if (!database.closed) context.log.warn("a connection to PostgreSQL that nobody used is lost", { error })
  }
  pool.on("error", onError)
  // Between the greeting of a server and whoever waits for the connection nobody listens: an error in the same packet would end the process.
  const onConnect = (client: PostgresClient) => client.on("error", () => {})
  pool.on("connect", onConnect)
  if (listenPool !== pool) {
    listenPool?.on("error", onError)
    listenPool?.on("connect", onConnect)
  }
  const notifier = new Notifier(pool, listenPool, schema, context.log)
  const end = async () => {
    await notifier.close()
    await database.close()
    if (listenPool !== pool) await listenPool?.end()
    // An own pool ends before its connections are gone: one that breaks meanwhile still has to be heard, or it would end the process.
    if (!opening.isGiven) return pool.end()
    pool.off?.("error", onError)
    pool.off?.("connect", onConnect)
  }
  try {
    await migrate(database, undefined, opening.partitions)
    await ensureFunctions(database)
    if (await adoptStream(database)) context.log.warn("the rows of this database are from another server: the stream of changes is numbered anew")
    const clock = new ServerClock(database, context.now(), context.monotonicMs)
    await clock.compare()
    // Now: later callers may hold all connections of the pool while they wait for the answer.
    const identity = await identityOf(database).catch((error: unknown) => {
      if (isUnreachable(error)) throw error
      return undefined
    })
    const row = await database.get("channel.meta", `SELECT secret FROM ${database.schema}.mail_channel`)
    await notifier.open(text(row ?? {}, "secret"))
    const components = createPostgresComponents(database, notifier, clock, new FunctionUse(database, context.log))
    return new PostgresStore(components, { connections: pool.options?.max ?? connectionsUsual, role: context.role, identity, end })
  } catch (error) {
    await end()
    throw postgresFailure(error, { server, statement: undefined })
  }
}

interface PostgresStoreOptions {
  readonly connections: number
  readonly role: StoreRole
  readonly identity: string | undefined
  end(this: void): Promise<void>
}

class PostgresStore implements Store {
  readonly journal: PostgresJournalStore
  readonly directory: PostgresDirectory
  readonly schedules: PostgresScheduleStore
  readonly flow: PostgresFlowControl
  readonly clientTransactions: PostgresTransactions
  readonly callerTransactions: PostgresCallerTransactions
  readonly role: StoreRole
  /** Others tell what they change, so looking is only the net. */
  readonly sweepMs = 30_000
  /** While the server works on one, the engine prepares the next. */
  readonly batchesMax = 3
  readonly now: () => number
  readonly #notifier: Notifier
  readonly #end: () => Promise<void>
  #ending: Promise<void> | undefined

  constructor(components: PostgresComponents, { connections, role, identity, end }: PostgresStoreOptions) {
    this.journal = new PostgresJournalStore(components)
    this.directory = new PostgresDirectory(components)
    this.schedules = new PostgresScheduleStore(components)
    this.flow = new PostgresFlowControl(components)
    this.role = role
    this.clientTransactions = new PostgresTransactions(components, connections)
    this.callerTransactions = new PostgresCallerTransactions(components, identity)
    this.now = () => components.clock.now()
    this.#notifier = components.notifier
    this.#end = end
  }

  /** There may be any number of workers. */
  async standBy(): Promise<StoreRole> {
    return this.role
  }

  onHint(listener: (hint: Hint) => void): () => void {
    return this.#notifier.listen(listener)
  }

  onPushedMessage(listener: (message: Message) => boolean): () => void {
    return this.#notifier.listenForPushed(listener)
  }

  close(): Promise<void> {
    this.#ending ??= this.#end()
    return this.#ending
  }
}
