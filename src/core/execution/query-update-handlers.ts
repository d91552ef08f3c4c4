import { markCodeError } from "./workflow-code-error.ts"
import { decodeValue, encodeValue, type Encoded, Payload } from "../values/value-codec.ts"
import type { QueryHandler, UpdateHandler, UpdateOptions } from "../workflow/context.ts"
import { PerdureError } from "../errors.ts"
import type { EntryOf } from "../journal/journal.ts"
import { isThenable } from "./promise-call.ts"

/** The execution of the code, as what others ask it sees it. */
export interface QueryUpdateHost {
  /** Runs what may only read. */
  readingOnly<T>(what: string, read: () => T): T
  /** Runs code of the workflow's. */
  enter(run: () => void): void
  note(entry: EntryOf<"update.completed" | "update.failed">): void
  readonly payloadBytesMax: number
}

/** The queries and updates that workflow code has said it answers, by name. */
export class QueryUpdateHandlers {
  readonly #source: QueryUpdateHost
  readonly #queries = new Map<string, QueryHandler>()
  readonly #updates = new Map<string, { readonly validate: UpdateOptions["validate"]; readonly run: UpdateHandler }>()

  constructor(source: QueryUpdateHost) {
    this.#source = source
  }

  setQuery(name: string, handler: QueryHandler): void {
    this.#queries.set(name, handler)
  }

  setUpdate(name: string, options: UpdateOptions, run: UpdateHandler): void {
    this.#updates.set(name, { validate: options.validate, run })
  }

  /** An update can make a handler run, and so settle what the code waits for. */
  get areOpen(): boolean {
    return this.#updates.size > 0
  }

  /** Answers from what the code knows now. Text in and out, as from another process: what a handler does to its arguments stays with it. */
  query(name: string, args: Encoded): Encoded {
    return this.#source.readingOnly(`query "${name}"`, () => this.#query(name, args))
  }

  #query(name: string, args: Encoded): Encoded {
    const handler = this.#queries.get(name)
    if (handler === undefined) throw unknownName("UNKNOWN_QUERY", "query", name, [...this.#queries.keys()])
    const answer = answerOf(handler, argumentsOf(args))
    refusePromise(answer, `the handler of query "${name}" gives a promise; a query answers at once, from what the workflow knows`)
    return encodeValue(answer, { what: `answer to query "${name}"` })
  }

  /** Throws what is wrong with the request; it has not been accepted then. */
  validateUpdate(name: string, args: Encoded): void {
    this.#source.readingOnly(`the validation of update "${name}"`, () => {
      const handler = this.#updates.get(name)
      if (handler === undefined) throw unknownName("UNKNOWN_UPDATE", "update", name, [...this.#updates.keys()])
      const answer: unknown = handler.validate?.(...argumentsOf(args))
      refusePromise(answer, `validate of update "${name}" gives a promise; it decides at once, from what the workflow knows`)
    })
  }

  /** Runs the handler of an update that is accepted, and notes what it answers. */
  update({ update, name, value: { text, isSensitive } }: EntryOf<"update.accepted">): void {
    const fail = (error: unknown) => this.#source.note({ type: "update.failed", update, value: Payload.ofError(error, isSensitive) })
    const answer = (result: unknown) => {
      const value = encodeValue(result, { what: `answer to update "${name}"`, bytesMax: this.#source.payloadBytesMax })
      this.#source.note({ type: "update.completed", update, value: Payload.of(value, isSensitive) })
    }
    this.#source.enter(() => void this.#run(name, text).then(answer).catch(fail))
  }

  async #run(name: string, args: Encoded): Promise<unknown> {
    const handler = this.#updates.get(name)
    // It was accepted when there was one.
    if (handler === undefined) throw unknownName("UNKNOWN_UPDATE", "update", name, [...this.#updates.keys()])
    return handler.run(...argumentsOf(args))
  }
}

function answerOf(handler: QueryHandler, args: never[]): unknown {
  try {
    return handler(...args)
  } catch (error) {
    throw markCodeError(error)
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
