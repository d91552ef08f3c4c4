import type { Readable } from "node:stream"

/** What a command sees of the process that it runs in. Tests give their own. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Sink
  readonly stderr: Sink
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Aborted by Ctrl-C, and when nobody reads the output any more; the reason is an `Interruption`. */
  readonly signal: AbortSignal
  readonly now: () => number
}

export interface Sink {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

/** Why a command ends before it is done. */
export class Interruption extends Error {
  override readonly name = "Interruption"
  readonly exitCode: number

  constructor(exitCode: number) {
    super("interrupted")
    this.exitCode = exitCode
  }
}
