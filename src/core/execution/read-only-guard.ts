import { PerdureError } from "../errors.ts"

/** Runs queries, validations of updates and predicates of conditions, which may only read: it refuses every ask in them. */
export class ReadOnlyGuard {
  #current: ReadOnlyCall | undefined = undefined

  /** Runs `read` in the scope of the workflow code. Throws if `read` has asked for something, even if its handler has caught the refusal. */
  run<T>(what: string, enter: (run: () => void) => void, read: () => T): T {
    const current: ReadOnlyCall = { what, violation: undefined }
    this.#current = current
    let answer: { readonly value: T } | { readonly error: unknown } | undefined
    enter(() => {
      try {
        answer = { value: read() }
      } catch (error) {
        answer = { error }
      } finally {
        this.#current = undefined
      }
    })
    if (current.violation) throw current.violation
    if (answer && "value" in answer) return answer.value
    throw answer?.error
  }

  /** Throws while a read-only call runs. */
  refuse(): void {
    const current = this.#current
    if (current === undefined) return
    current.violation ??= new PerdureError("READ_ONLY_HANDLER", `${current.what} uses ctx; it may only read the variables of the workflow`)
    throw current.violation
  }
}

interface ReadOnlyCall {
  readonly what: string
  /** The first ask that was refused. */
  violation: PerdureError | undefined
}
