import { decodeValue, encodeValue, type Encoded } from "./codec.ts"
import type { EventHandler, QueryHandler, UpdateHandler, UpdateOptions } from "./context.ts"
import { PerdureError } from "./errors.ts"
import { isThenable } from "./thenable.ts"

/** What workflow code has said it answers: events of a type, queries and updates by name. */
export class Handlers {
  readonly #events = new Map<string, EventHandler<never>>()
  readonly #queries = new Map<string, QueryHandler>()
  readonly #updates = new Map<string, { readonly validate: UpdateOptions["validate"]; readonly run: UpdateHandler }>()

  onEvent(type: string, handler: EventHandler<never>): void {
    this.#events.set(type, handler)
  }

  setQuery(name: string, handler: QueryHandler): void {
    this.#queries.set(name, handler)
  }

  setUpdate(name: string, options: UpdateOptions, run: UpdateHandler): void {
    this.#updates.set(name, { validate: options.validate, run })
  }

  /** Something from outside can make one of them run, and so settle what the code waits for. */
  get areOpen(): boolean {
    return this.#events.size > 0 || this.#updates.size > 0
  }

  handlesEvent(type: string): boolean {
    return this.#events.has(type)
  }

  event(type: string, payload: unknown): unknown {
    return this.#events.get(type)?.(payload as never)
  }

  /** Text in and out, as from another process: what a handler does to its arguments stays with it. */
  query(name: string, args: Encoded): Encoded {
    const handler = this.#queries.get(name)
    if (handler === undefined) throw unknownName("UNKNOWN_QUERY", "query", name, [...this.#queries.keys()])
    const answer = handler(...argumentsOf(args))
    refusePromise(answer, `the handler of query "${name}" gives a promise; a query answers at once, from what the workflow knows`)
    return encodeValue(answer, { what: `answer to query "${name}"` })
  }

  /** Throws what is wrong with the request; it has not been accepted then. */
  validateUpdate(name: string, args: Encoded): void {
    const handler = this.#updates.get(name)
    if (handler === undefined) throw unknownName("UNKNOWN_UPDATE", "update", name, [...this.#updates.keys()])
    const answer: unknown = handler.validate?.(...argumentsOf(args))
    refusePromise(answer, `validate of update "${name}" gives a promise; it decides at once, from what the workflow knows`)
  }

  async update(name: string, args: Encoded): Promise<unknown> {
    const handler = this.#updates.get(name)
    // It was accepted when there was one.
    if (handler === undefined) throw unknownName("UNKNOWN_UPDATE", "update", name, [...this.#updates.keys()])
    return handler.run(...argumentsOf(args))
  }
}

function argumentsOf(args: Encoded): never[] {
  return decodeValue(args) as never[]
}

function refusePromise(answer: unknown, message: string): void {
  if (!isThenable(answer)) return
  answer.then(undefined, () => undefined)
  throw new PerdureError("BAD_QUERY", message)
}

function unknownName(code: "UNKNOWN_QUERY" | "UNKNOWN_UPDATE", what: string, name: string, known: readonly string[]): PerdureError {
  const list = known.length === 0 ? "none" : known.map((one) => `"${one}"`).join(", ")
  return new PerdureError(code, `the workflow has no handler for ${what} "${name}"; it has ${list}`, { details: { name, known } })
}
