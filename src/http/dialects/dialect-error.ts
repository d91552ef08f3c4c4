/** An error with a code of a dialect, which is not one of ours. Callers see it as it is. */
export class DialectError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, { code, message }: { readonly code: string; readonly message: string }) {
    super(message)
    this.status = status
    this.code = code
  }
}
