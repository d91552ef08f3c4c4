import type { Database } from "../connection/database.ts"
import type { FunctionNames } from "../schema/function-set.ts"
import type { ListenConnection } from "./listen-connection.ts"
import { isCollision, isMisprepared, isUndefinedFunction } from "../connection/postgres-failure.ts"

/** The connection that listens receives nothing while a statement runs on it. A statement that waits for a lock gives up after this time, and goes over the pool. */
const lockMs = 50

/**
 * Sends single, short calls of functions that answer a text. A call goes over the connection that listens, if no other call is under way there. The server need
 * not wake another process for it, and it does not wait for a connection of the pool.
 */
export class ListenConnectionCalls {
  readonly #database: Database
  readonly #connection: () => ListenConnection | undefined
  /** The texts of each call: for the connection that listens, and for the pool. */
  readonly #texts = new Map<string, { readonly name: string; readonly overListenConnection: string; readonly overPool: string }>()

  constructor(database: Database, connection: () => ListenConnection | undefined) {
    this.#database = database
    this.#connection = connection
  }

  /** `name`: of the statement, in errors. */
  call(name: string, fn: keyof FunctionNames, values: readonly (string | number | boolean | null)[]): Promise<string | null> {
    const connection = this.#connection()
    const texts = this.#textsOf(name, fn, values.length)
    if (connection === undefined || !connection.isFree || !this.#database.prepares) return this.#overPool(name, texts.overPool, values)
    return new Promise((resolve, reject) => {
      connection.query(texts.name, texts.overListenConnection, values.map(toParameter), (error, answer) => {
        if (!error) resolve(answer)
        // The statement has written nothing.
        else if (isCollision(error) || isMisprepared(error) || isUndefinedFunction(error)) this.#overPool(name, texts.overPool, values).then(resolve, reject)
        else reject(this.#database.failure(error, name))
      })
    })
  }

  async #overPool(name: string, text: string, values: readonly unknown[]): Promise<string | null> {
    return ((await this.#database.get(name, text, ...values))?.["answer"] ?? null) as string | null
  }

  #textsOf(name: string, fn: keyof FunctionNames, count: number) {
    const known = this.#texts.get(name)
    if (known) return known
    const parameters = Array.from({ length: count }, (_, at) => `$${at + 1}`).join(", ")
    const call = `${this.#database.functions[fn]}(${parameters})::text AS answer`
    const overListenConnection = `SELECT set_config('lock_timeout', '${lockMs}', true), ${call}`
    const texts = { name: `${this.#database.schema}.listen.${name}`, overListenConnection, overPool: `SELECT ${call}` }
    this.#texts.set(name, texts)
    return texts
  }
}

function toParameter(value: string | number | boolean | null): string | null {
  return typeof value === "string" || value === null ? value : String(value)
}
