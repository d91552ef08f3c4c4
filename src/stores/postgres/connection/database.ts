import { setTimeout as delay } from "node:timers/promises"
import { storeClosedError } from "../../shared/store-error.ts"
import type { PgModule, PostgresClient, PostgresPool, PostgresResult } from "./pg.ts"
import { isCollision, isMisprepared, isUndefinedFunction, isUnreachable, isUnsent, postgresFailure } from "./postgres-failure.ts"
import { createFunctions } from "../schema/function-use.ts"
import { type FunctionNames, type FunctionSet, functionSetOf } from "../schema/function-set.ts"
import { commitStatement } from "./statement-purpose.ts"

const int8 = 20
const collisionsMax = 10
const outageMs = 60_000
/** Lists and counts may read many rows. */
const searchMs = 600_000
/** Without this, a process that freezes or loses power inside a transaction would keep its locks until the server notices, hours later. */
export const boundedIdleness = "SET LOCAL idle_in_transaction_session_timeout = 10000"

export type PgRow = Record<string, unknown>

/** The names that statements are made of. */
export interface DatabaseNames {
  /** The schema, quoted. */
  readonly schema: string
  readonly functions: FunctionNames
}

/** Where statements can be sent to: the pool, or one connection with a transaction. */
export interface Queries {
  all(name: string, text: string, ...values: unknown[]): Promise<PgRow[]>
  get(name: string, text: string, ...values: unknown[]): Promise<PgRow | undefined>
}

/** The last statement that was sent over a connection. */
interface Sent {
  statement: string | undefined
}

/** A connection that one caller uses alone. */
export interface Connection {
  readonly client: PostgresClient
  readonly queries: Queries
  /** The error that broke the connection. */
  readonly brokenBy: Error | undefined
  /** With an error, the pool closes the connection. */
  release(error?: Error): void
}

/** The connections of one open store. Each statement has a name, by which a connection prepares it once. */
export class Database implements Queries, DatabaseNames {
  /** The schema, quoted. */
  readonly schema: string
  readonly functionSet: FunctionSet
  /** Called before each statement or transaction of this store. */
  onUse: () => void = () => undefined
  readonly #pool: PostgresPool
  readonly #types: PgModule["types"]
  readonly #server: string
  #prepares: boolean
  readonly #closing = new AbortController()
  readonly #open = new Set<Promise<unknown>>()

  constructor(pool: PostgresPool, pgTypes: PgModule["types"], schema: string, server = "", prepares = true, functionSet = functionSetOf(schema)) {
    this.#pool = pool
    this.schema = schema
    this.functionSet = functionSet
    this.#server = server
    this.#prepares = prepares
    // All numbers of the store are below 2^53.
    this.#types = { getTypeParser: (oid, format) => (oid === int8 && format !== "binary" ? Number : pgTypes.getTypeParser(oid, format)) }
  }

  /** The whole names of the functions that statements call. */
  get functions(): FunctionNames {
    return this.functionSet.names
  }

  /** Whether statements are prepared by name. */
  get prepares(): boolean {
    return this.#prepares
  }

  get closed(): boolean {
    return this.#closing.signal.aborted
  }

  /** Sends a single statement, which is a transaction of its own. */
  all(name: string, text: string, ...values: unknown[]): Promise<PgRow[]> {
    return this.#single(name, text, values)
  }

  async get(name: string, text: string, ...values: unknown[]): Promise<PgRow | undefined> {
    return (await this.#single(name, text, values))[0]
  }

  async #single(name: string, text: string, values: unknown[]): Promise<PgRow[]> {
    try {
      return await this.#use(async (client, sent) => (await this.#send(client, sent, name, text, values)).rows)
    } finally {
      // Older objects refer to the parameters for a while after the answer, and the texts of a batch are long. So the parameters are released here.
      values.length = 0
    }
  }

  /** Sends a statement whose text depends on the call, and which is not prepared. */
  async unnamed(text: string, ...values: unknown[]): Promise<PgRow[]> {
    return this.#use(async (client, sent) => {
      sent.statement = "list"
      return (await client.query({ text, values, types: this.#types, query_timeout: searchMs })).rows
    })
  }

  /** Repeats `fn` while the server is unreachable, for up to a minute. `fn` must be safe to repeat after an unknown outcome. */
  async persistently<T>(fn: () => Promise<T>): Promise<T> {
    const until = performance.now() + outageMs
    for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 1_000)) {
      try {
        return await fn()
      } catch (error) {
        if (!isUnreachable(error) || performance.now() > until) throw error
        await this.#pause(pauseMs)
      }
    }
  }

  /** Runs `fn` in a transaction. If it collides with other transactions, it is rolled back, and `fn` is called again. */
  async transaction<T>(fn: (queries: Queries, client: PostgresClient) => Promise<T>): Promise<T> {
    return this.#use(async (client, sent) => {
      const queries = this.#on(client, sent)
      await client.query(`BEGIN ISOLATION LEVEL READ COMMITTED; ${boundedIdleness}`)
      try {
        const result = await fn(queries, client)
        sent.statement = commitStatement
        await client.query("COMMIT")
        return result
      } catch (error) {
        if (!isUnreachable(error)) await client.query("ROLLBACK")
        throw error
      }
    })
  }

  /** Takes a connection from the pool. Closing the store waits until the connection is released. */
  async connect(): Promise<Connection> {
    if (this.closed) throw storeClosedError()
    let isBack: () => void = () => undefined
    const promise = new Promise<void>((resolve) => (isBack = resolve))
    this.#open.add(promise)
    const end = () => {
      this.#open.delete(promise)
      isBack()
    }
    try {
      return new PoolConnection(await this.#pool.connect(), (client) => this.#on(client, { statement: undefined }), end)
    } catch (error) {
      end()
      throw this.failure(error, undefined)
    }
  }

  /** The error of the store for an error of that statement. */
  failure(error: unknown, statement: string | undefined): unknown {
    return postgresFailure(error, { server: this.#server, statement })
  }

  #on(client: PostgresClient, sent: Sent): Queries {
    return {
      all: async (name, text, ...values) => (await this.#send(client, sent, name, text, values)).rows,
      get: async (name, text, ...values) => (await this.#send(client, sent, name, text, values)).rows[0],
    }
  }

  /** Refuses new statements, and waits for those under way. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#open)
  }

  async #use<T>(fn: (client: PostgresClient, sent: Sent) => Promise<T>): Promise<T> {
    if (this.closed) throw storeClosedError()
    this.onUse()
    const work = this.#attempt(fn)
    this.#open.add(work)
    try {
      return await work
    } finally {
      this.#open.delete(work)
    }
  }

  async #attempt<T>(fn: (client: PostgresClient, sent: Sent) => Promise<T>): Promise<T> {
    let hasCreatedFunctions = false
    for (let attempt = 1; ; attempt++) {
      const sent: Sent = { statement: undefined }
      try {
        const client = await this.#pool.connect()
        let broken: Error | undefined
        // A connection that breaks between two statements emits an error event, which would end the process without a listener.
        const onError = (error: Error) => {
          broken = error
        }
        client.on("error", onError)
        try {
          return await fn(client, sent)
        } catch (error) {
          if (isUnreachable(error)) broken = error instanceof Error ? error : new Error(String(error))
          throw error
        } finally {
          // A broken connection may report its error more than once, so its listener stays.
          if (broken === undefined) client.off("error", onError)
          client.release(broken)
        }
      } catch (error) {
        // A pooler has lent a connection that does not know the statement, or that knows it already.
        if (this.#prepares && isMisprepared(error)) this.#prepares = false
        // The functions were dropped, because no process had noted their use for a long time.
        else if (!hasCreatedFunctions && isUndefinedFunction(error)) {
          hasCreatedFunctions = true
          await createFunctions(this)
        }
        // The transaction was rolled back, or never began.
        else if (attempt < collisionsMax && isCollision(error)) await this.#pause(Math.random() * 10 * attempt)
        else if (attempt < 3 && isUnsent(error)) await this.#pause(50 * attempt)
        else throw this.failure(error, sent.statement)
      }
    }
  }

  async #pause(ms: number): Promise<void> {
    if (this.closed) throw storeClosedError()
    await delay(ms, undefined, { signal: this.#closing.signal }).catch(() => {
      throw storeClosedError()
    })
  }

  #send(client: PostgresClient, sent: Sent, name: string, text: string, values: unknown[]): Promise<PostgresResult> {
    sent.statement = name
    if (!this.#prepares) return client.query({ text, values, types: this.#types })
    // The name contains the schema, because stores in several schemas may share a pool of the user.
    return client.query({ name: `${this.schema}.${name}`, text, values, types: this.#types })
  }
}

class PoolConnection implements Connection {
  readonly client: PostgresClient
  readonly queries: Queries
  readonly #end: () => void
  #brokenBy: Error | undefined
  #isReleased = false

  constructor(client: PostgresClient, queriesOn: (client: PostgresClient) => Queries, end: () => void) {
    this.client = client
    this.queries = queriesOn(client)
    this.#end = end
    client.on("error", this.#onError)
  }

  get brokenBy(): Error | undefined {
    return this.#brokenBy
  }

  release(error = this.#brokenBy): void {
    if (this.#isReleased) return
    this.#isReleased = true
    // A broken connection may report its error more than once, so its listener stays.
    if (error === undefined) this.client.off("error", this.#onError)
    this.client.release(error)
    this.#end()
  }

  readonly #onError = (error: Error): void => {
    this.#brokenBy = error
  }
}
