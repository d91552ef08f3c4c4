import { PerdureError } from "../../../core/errors.ts"
import type { PostgresClient } from "./pg.ts"
import { checkStatement } from "./transaction-statement-check.ts"

/** The longest time of a timer. */
const patienceMs = 2 ** 31 - 1

/** Methods that only the owner of the connection may call. */
const ours = new Set<PropertyKey>(["release", "end", "connect"])
/** Methods of the SQLite store's SQL object. */
const sqlite = new Set<PropertyKey>(["run", "get", "all"])

/**
 * The client that the function of a transaction gets. It is the driver's client, works while the transaction lasts, and refuses statements that would end
 * the transaction.
 */
export class StepClient {
  readonly client: PostgresClient
  /** The number of statements under way. */
  #open = 0
  #isClosed = false

  constructor(client: PostgresClient) {
    const query = (...args: readonly unknown[]) => this.#query(client, args)
    this.client = new Proxy(client, {
      get: (target, name) => {
        if (name === "query") return query
        if (ours.has(name)) return refuse(`client.${String(name)} is not yours to call here: the connection is given back when the function is done`)
        if (sqlite.has(name) && !(name in target))
          return refuse(`this is PostgreSQL: write async (client: PoolClient) => …, and client.query in place of sql.${String(name)}`)
        const value: unknown = Reflect.get(target, name)
        return typeof value === "function" ? (...args: unknown[]) => Reflect.apply(value, target, args) as unknown : value
      },
    })
  }

  get isBusy(): boolean {
    return this.#open > 0
  }

  close(): void {
    this.#isClosed = true
  }

  /** Accepts everything that `pg` accepts instead of text, such as a cursor. */
  #query(client: PostgresClient, args: readonly unknown[]): unknown {
    const [given] = args
    try {
      if (this.#isClosed) throw new PerdureError("SQL_REFUSED", "the transaction has ended; use its client only inside its function, and await every call")
      const text = typeof given === "object" && given !== null && "text" in given ? given.text : given
      if (typeof text === "string") checkStatement(text)
    } catch (error) {
      return Promise.reject(error)
    }
    const send = client.query.bind(client) as (...given: readonly unknown[]) => unknown
    const answer = send(...patient(args))
    if (!(answer instanceof Promise)) return answer
    this.#open++
    const over = () => void this.#open--
    answer.then(over, over)
    return answer
  }
}

/** Removes the statement's time limit, by which the store notices an outage. The step's timeout limits the user's statements instead. */
function patient([first, ...rest]: readonly unknown[]): readonly unknown[] {
  if (typeof first === "string") return [{ text: first, query_timeout: patienceMs }, ...rest]
  const isPlain = typeof first === "object" && first !== null && !("submit" in first)
  return isPlain ? [{ query_timeout: patienceMs, ...first }, ...rest] : [first, ...rest]
}

function refuse(message: string): () => never {
  return () => {
    throw new PerdureError("SQL_REFUSED", message)
  }
}
