import type { Database } from "../connection/database.ts"
import type { FunctionNames } from "../schema/function-set.ts"
import type { ListenConnection } from "./listen-connection.ts"
import { isCollision, isMisprepared, isUndefinedFunction } from "../connection/postgres-failure.ts"

/** The connection that listens hears nothing while a statement is under way on it. One that waits for a lock gives up after this, and goes another way. */
const lockMs = 50

/**
 * Calls of functions that go alone, are short, and answer a text. They go over the connection that listens, where nothing else is under way there: no other
 * process of the server has to be woken for what was just heard, or for what we tell ourselves, and there is no line of a pool to go through.
 */
export class ListenConnectionCalls {
  readonly #database: Database
  readonly #ear: () => ListenConnection | undefined
  /** Of each function, what is sent to the one connection and to the others. */
  readonly #texts = new Map<string, { readonly name: string; readonly overEar: string; readonly overPool: string }>()

  constructor(database: Database, ear: () => ListenConnection | undefined) {
    this.#database = database
    this.#ear = ear
  }

  /** `name`: of the statement, in errors. */
  call(name: string, fn: keyof FunctionNames, values: readonly (string | number | boolean | null)[]): Promise<string | null> {
    const ear = this.#ear()
    const texts = this.#textsOf(name, fn, values.length)
    if (ear === undefined || !ear.isFree || !this.#database.prepares) return this.#overPool(name, texts.overPool, values)
    return new Promise((resolve, reject) => {
      ear.query(texts.name, texts.overEar, values.map(toParameter), (error, answer) => {
        if (!error) resolve(answer)
        // Nothing was done.
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
    const given = Array.from({ length: count }, (_, at) => `$${at + 1}`).join(", ")
    const call = `${this.#database.functions[fn]}(${given})::text AS answer`
    const overEar = `SELECT set_config('lock_timeout', '${lockMs}', true), ${call}`
    const texts = { name: `${this.#database.schema}.listen.${name}`, overEar, overPool: `SELECT ${call}` }
    this.#texts.set(name, texts)
    return texts
  }
}

function toParameter(value: string | number | boolean | null): string | null {
  return typeof value === "string" || value === null ? value : String(value)
}
