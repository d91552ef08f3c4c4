import { PerdureError } from "../errors.ts"

/** Lets workflow code be asked something without its asking for anything: while a query or a validation is answered, it may only read. */
export class ReadOnlyGuard {
  #current: Question | undefined = undefined

  /** In the scope of the code, as what it leaves behind is its own. Asking is refused, also where the handler swallows that. */
  run<T>(what: string, enter: (run: () => void) => void, read: () => T): T {
    const current: Question = { what, offence: undefined }
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
    if (current.offence) throw current.offence
    if (answer && "value" in answer) return answer.value
    throw answer?.error
  }

  /** Throws while only reading is allowed. */
  refuse(): void {
    const current = this.#current
    if (current === undefined) return
    current.offence ??= new PerdureError("READ_ONLY_HANDLER", `${current.what} asks for something; it may only read what the workflow knows`)
    throw current.offence
  }
}

interface Question {
  readonly what: string
  /** What was refused first. */
  offence: PerdureError | undefined
}
