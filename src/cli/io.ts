import type { Readable } from "node:stream"

/** The process as a command sees it. Tests pass their own. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Sink
  readonly stderr: Sink
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Ctrl-C aborts it, and so does a closed output. The reason is an `Interruption`. */
  readonly signal: AbortSignal
  readonly now: () => number
}

export interface Sink {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

/** The reason why a command ends early. */
export class Interruption extends Error {
  override readonly name = "Interruption"
  readonly exitCode: number

  constructor(exitCode: number) {
    super("interrupted")
    this.exitCode = exitCode
  }
}
