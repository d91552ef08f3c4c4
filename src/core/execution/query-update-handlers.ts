import { markCodeError } from "./workflow-code-error.ts"
import { decodeValue, encodeValue, type Encoded, Payload } from "../values/value-codec.ts"
import type { QueryHandler, UpdateHandler, UpdateOptions } from "../workflow/context.ts"
import { PerdureError } from "../errors.ts"
import type { EntryOf } from "../journal/journal.ts"
import { isThenable } from "./promise-call.ts"

/** What the handlers of queries and updates need of the execution. */
export interface QueryUpdateHost {
  /** Runs `read` and refuses every ask in it. */
  readOnly<T>(what: string, read: () => T): T
  /** Runs code in the scope of the workflow. */
  enter(run: () => void): void
  note(entry: EntryOf<"update.completed" | "update.failed">): void
  readonly payloadBytesMax: number
}

/** The handlers of queries and updates that workflow code has registered, by name. */
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

  /** Whether an update may run a handler, which may settle a promise that the code awaits. */
  get areOpen(): boolean {
    return this.#updates.size > 0
  }

  /** Answers a query from the present state of the code. Arguments and answer are encoded, so a handler cannot change values of the caller. */
  query(name: string, args: Encoded): Encoded {
    return this.#source.readOnly(`query "${name}"`, () => this.#query(name, args))
  }

  #query(name: string, args: Encoded): Encoded {
    const handler = this.#queries.get(name)
    if (handler === undefined) throw unknownName("UNKNOWN_QUERY", "query", name, [...this.#queries.keys()])
    const answer = callQuery(handler, argumentsOf(args))
    refusePromise(answer, `the handler of query "${name}" returns a promise; a query answers at once, from what the workflow knows`)
    return encodeValue(answer, { what: `answer to query "${name}"` })
  }

  /** Throws if the update must not be accepted: it has no handler, or its validation throws. */
  validateUpdate(name: string, args: Encoded): void {
    this.#source.readOnly(`the validation of update "${name}"`, () => {
      const handler = this.#updates.get(name)
      if (handler === undefined) throw unknownName("UNKNOWN_UPDATE", "update", name, [...this.#updates.keys()])
      const answer: unknown = handler.validate?.(...argumentsOf(args))
      refusePromise(answer, `validate of update "${name}" returns a promise; it decides at once, from what the workflow knows`)
    })
  }

  /** Runs the handler of an accepted update, and notes its result. */
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
    // The update was accepted while a handler existed, so newer code has removed it.
    if (handler === undefined) throw unknownName("UNKNOWN_UPDATE", "update", name, [...this.#updates.keys()])
    return handler.run(...argumentsOf(args))
  }
}

/** Marks an error of the handler as one of the workflow's code. */
function callQuery(handler: QueryHandler, args: never[]): unknown {
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
