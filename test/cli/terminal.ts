import { type IPty, spawn } from "@lydell/node-pty"
import type { CliBed } from "./cli-bed.ts"
import { environment, mainScript } from "./command-process.ts"

/** A real pseudo-terminal with a program in it. */
export class Terminal {
  readonly exited: Promise<number>
  readonly #pty: IPty
  readonly #listeners = new Set<() => void>()
  #output = ""
  #isOver = false

  constructor(
    bed: CliBed,
    file: string,
    args: readonly string[],
    { columns = 80, env = {} }: { readonly columns?: number; readonly env?: Record<string, string> } = {},
  ) {
    this.#pty = spawn(file, [...args], {
      name: "xterm-256color",
      cols: columns,
      rows: 24,
      cwd: bed.folder,
      env: environment(bed, { TERM: "xterm-256color", ...env }),
    })
    this.#pty.onData((data) => {
      this.#output += data
      for (const listener of this.#listeners) listener()
    })
    this.exited = new Promise((resolve) =>
      this.#pty.onExit(({ exitCode }) => {
        this.#isOver = true
        for (const listener of this.#listeners) listener()
        resolve(exitCode)
      }),
    )
  }

  static perdure(bed: CliBed, args: readonly string[], options?: { readonly columns?: number; readonly env?: Record<string, string> }): Terminal {
    return new Terminal(bed, process.execPath, [mainScript, ...args], options)
  }

  /** The whole output, with line ends as in files, and without bells. */
  get output(): string {
    return this.#output.replaceAll("\r\n", "\n").replaceAll("\u0007", "")
  }

  type(keys: string): void {
    this.#pty.write(keys)
  }

  /** Waits until the program has printed a match after `from` characters of the output. */
  async shows(pattern: RegExp, from = 0): Promise<void> {
    while (!pattern.test(this.output.slice(from))) {
      if (this.#isOver) throw new Error(`it ended before it showed ${String(pattern)}:\n${this.output}`)
      await new Promise<void>((resolve) => {
        const listener = () => {
          this.#listeners.delete(listener)
          resolve()
        }
        this.#listeners.add(listener)
      })
    }
  }

  kill(): void {
    if (!this.#isOver) this.#pty.kill("SIGKILL")
  }
}

// oxlint-disable-next-line no-control-regex
const escapes = /\u001b\[[0-9;?]*[A-Za-z]/g

/** Removes escape sequences for the cursor and for colours. */
export function bare(text: string): string {
  return text.replace(escapes, "")
}
