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
import { PostgresTaskStore } from "./postgres-task-store.ts"
import { PostgresTransactions } from "./postgres-transactions.ts"
import { type PostgresComponents, createPostgresComponents } from "./postgres-components.ts"
import { isUnreachable, postgresFailure } from "./connection/postgres-failure.ts"
import { quotedSchema } from "./connection/schema-name.ts"
import { ServerClock } from "./connection/server-clock.ts"

interface Opening {
  readonly pool: PostgresPool
  /** Where the connection that listens comes from. Undefined: the store does not listen. */
  readonly listenPool: PostgresPool | undefined
  /** Statements are prepared by name. */
  readonly prepares: boolean
  /** The pool is the user's, and stays open. */
  readonly isGiven: boolean
  readonly types: PgModule["types"]
  readonly schema: string
  readonly partitions?: number | undefined
  /** Tests give the functions of another version of the code. */
  readonly functionSet?: FunctionSet | undefined
  /** The address of the database, for messages. */
  readonly server: string
  readonly context: StoreContext
}

/** The default size of a pool of `pg`. */
const connectionsUsual = 10

export async function openPostgresStore(opening: Opening): Promise<Store> {
  const { pool, listenPool, types, schema, server, context } = opening
  const database = new Database(pool, types, quotedSchema(schema), server, opening.prepares, opening.functionSet)
  const onError = (error: Error) => {
    // The pool adds the whole connection to the error, which would fill the log.
    Reflect.deleteProperty(error, "client")
    if (!database.closed) context.log.warn("a connection to PostgreSQL that nobody used is lost", { error })
  }
  pool.on("error", onError)
  // A new connection has no listener before the pool hands it out: an error in the same packet as the server's greeting would end the process.
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
    // The listeners stay on the store's own pool. Its connections close after the pool has ended, and an error of one without a listener would end the process.
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
    // Read now, because later callers may hold all connections of the pool while they wait for the answer.
    const identity = await identityOf(database).catch((error: unknown) => {
      if (isUnreachable(error)) throw error
      return undefined
    })
    const row = await database.get("channel.meta", `SELECT secret FROM ${database.schema}.push_channel`)
    await notifier.open(text(row ?? {}, "secret"))
    const functionUse = new FunctionUse(database, context.log)
    database.onUse = () => functionUse.noteIfDue()
    const components = createPostgresComponents(database, notifier, clock, functionUse)
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
  readonly tasks: PostgresTaskStore
  readonly clientTransactions: PostgresTransactions
  readonly callerTransactions: PostgresCallerTransactions
  readonly role: StoreRole
  /** Other processes notify of their changes, so sweeps only make up for lost notifications. */
  readonly sweepMs = 30_000
  /** While the server works on one batch, the engine prepares the next. */
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
    this.tasks = new PostgresTaskStore(components)
    this.role = role
    this.clientTransactions = new PostgresTransactions(components, connections)
    this.callerTransactions = new PostgresCallerTransactions(components, identity)
    this.now = () => components.clock.now()
    this.#notifier = components.notifier
    this.#end = end
  }

  /** Any number of workers may share the store. */
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
