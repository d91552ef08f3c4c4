// Shows instances while they move. On a terminal one picture is drawn again and again in its place; elsewhere each change is a line of its own.

import { styleText } from "node:util"
import type { InstanceDescription } from "perdure"
import { headline, type Line, seconds, stepLine } from "./step-lines.ts"

export interface View {
  /** `hint` is what the person could do now. */
  show(instances: readonly InstanceDescription[], hint: string): void
  /** Leaves the last picture where it is. */
  close(): void
}

export type Output = Pick<NodeJS.WriteStream, "write" | "isTTY" | "columns" | "rows">

export function openView(output: Output, environment: NodeJS.ProcessEnv): View {
  const isTerminal = output.isTTY && environment["TERM"] !== "dumb"
  return isTerminal ? new LiveView(output, !environment["NO_COLOR"]) : new LogView(output)
}

const nameWidth = 10
const hideCursor = "\u001b[?25l"
const showCursor = "\u001b[?25h"
const clearLine = "\u001b[2K"
const clearBelow = "\u001b[0J"
const up = (lines: number) => (lines === 0 ? "" : `\u001b[${lines}A`)

class LiveView implements View {
  readonly #output: Output
  readonly #colours: boolean
  #picture: readonly string[] = []
  #begun = false

  constructor(output: Output, colours: boolean) {
    this.#output = output
    this.#colours = colours
  }

  show(instances: readonly InstanceDescription[], hint: string): void {
    const now = Date.now()
    const pictures = instances.map((instance) => [this.#headline(headline(instance, now)), ...instance.steps.map((step) => this.#step(stepLine(step, now)))])
    const lines = pictures.flatMap((picture, index) => (index === 0 ? picture : ["", ...picture]))
    this.#draw(hint === "" ? lines : [...lines, "", this.#paint("dim", `  ${this.#cut(hint, 2)}`)])
  }

  close(): void {
    if (this.#begun) this.#output.write(showCursor)
  }

  #draw(lines: readonly string[]): void {
    // A picture higher than the terminal could not be drawn over.
    const picture = lines.slice(-Math.max(1, this.#output.rows - 1))
    if (picture.join("\n") === this.#picture.join("\n")) return
    const begin = this.#begun ? "" : hideCursor
    this.#output.write(`${begin}${up(this.#picture.length)}\r${picture.map((line) => `${clearLine}${line}\n`).join("")}${clearBelow}`)
    this.#picture = picture
    this.#begun = true
  }

  #headline({ colour, name, says }: Line): string {
    return `  ${this.#paint("bold", name.padEnd(nameWidth + 6))}${this.#paint(colour, says)}`
  }

  #step({ symbol, colour, name, says }: Line): string {
    const what = this.#paint(colour === "green" ? "dim" : colour, this.#cut(says, nameWidth + 8))
    return `    ${this.#paint(colour, symbol)} ${name.padEnd(nameWidth)}  ${what}`
  }

  /** To what fits after an indent: a line that wraps could not be drawn over. */
  #cut(text: string, indent: number): string {
    const room = Math.max(10, this.#output.columns - indent - 1)
    return text.length > room ? `${text.slice(0, room - 1)}…` : text
  }

  #paint(format: Line["colour"] | "bold", text: string): string {
    return this.#colours ? styleText(format, text, { validateStream: false }) : text
  }
}

class LogView implements View {
  readonly #output: Output
  readonly #seen = new Map<string, string>()
  readonly #openedAt = Date.now()

  constructor(output: Output) {
    this.#output = output
  }

  show(instances: readonly InstanceDescription[], hint: string): void {
    const now = Date.now()
    for (const instance of instances) {
      const id = instance.id.padEnd(nameWidth)
      for (const step of instance.steps) {
        const { symbol, name, says } = stepLine(step, now)
        this.#say(`${instance.id}/${step.id}`, `${step.status} ${step.attempts}`, `${id} ${symbol} ${name.padEnd(nameWidth)} ${says}`)
      }
      this.#say(instance.id, instance.status, `${id} ${instance.status}`)
    }
    if (hint !== "") this.#say("", hint, hint)
  }

  close(): void {
    // Nothing to undo.
  }

  /** A line only where something is new, not where just time has passed. */
  #say(what: string, state: string, line: string): void {
    if (this.#seen.get(what) === state) return
    this.#seen.set(what, state)
    this.#output.write(`${seconds(Date.now() - this.#openedAt).padStart(7)}  ${line}\n`)
  }
}
