import type { Invocation } from "../invocation.ts"
import { textWidth } from "./plain-text.ts"

const everyMs = 100
const lineEveryMs = 10_000

/** Shows the progress of a long operation. On a terminal one line is overwritten; elsewhere a line is written now and then. */
export class ProgressLine {
  readonly #cli: Invocation
  readonly #isTerminal: boolean
  #shownAt: number
  #width = 0

  constructor(cli: Invocation) {
    this.#cli = cli
    this.#isTerminal = cli.io.stderr.isTTY === true
    this.#shownAt = cli.io.now()
  }

  show(text: () => string): void {
    const { io } = this.#cli
    const now = io.now()
    if (now - this.#shownAt < (this.#isTerminal ? everyMs : lineEveryMs)) return
    this.#shownAt = now
    if (!this.#isTerminal) return this.#cli.note(text())
    const line = text()
    io.stderr.write(`\r${line.padEnd(this.#width)}`)
    this.#width = textWidth(line)
  }

  /** Removes the line from the terminal. */
  clear(): void {
    if (this.#width > 0) this.#cli.io.stderr.write(`\r${" ".repeat(this.#width)}\r`)
    this.#width = 0
  }
}
