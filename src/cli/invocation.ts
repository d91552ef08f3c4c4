import type { Command } from "commander"
import type { Logger } from "../ports/host.ts"
import type { Io, Sink } from "./io.ts"
import { openClient, type OpenClient, type OpenOptions } from "./target/open-client.ts"
import { isColourful, styleOf, type Style } from "./output/style.ts"
import { type GlobalOptions, resolveTarget, type Target } from "./target/target.ts"

/** The function of output/json.ts, which is loaded only if the user asks for JSON. */
export type AsJson = typeof import("./output/json.ts").asJson

/** One call of the CLI: its options, its output, and the clients that it has opened. */
export class Invocation {
  readonly io: Io
  /** The style of the text on stdout. */
  readonly style: Style
  readonly errorStyle: Style
  /** The exit code of the process if nothing throws. */
  exitCode = 0
  /** The exit code after an interruption, for commands that users end with Ctrl-C. */
  interruptedCode: number | undefined = undefined
  readonly #program: Command
  readonly #asJson: AsJson | undefined
  readonly #closers: (() => Promise<void>)[] = []

  /** The program for a command line, with the command that the line calls. */
  readonly programFor: (argv: readonly string[]) => Promise<Command>

  constructor(io: Io, program: Command, asJson: AsJson | undefined, programFor: (argv: readonly string[]) => Promise<Command>) {
    this.io = io
    this.#asJson = asJson
    this.#program = program
    this.programFor = programFor
    this.style = styleOf(isColourful(io, io.stdout))
    this.errorStyle = styleOf(isColourful(io, io.stderr))
  }

  get options(): GlobalOptions {
    return this.#program.opts<GlobalOptions>()
  }

  get json(): boolean {
    return this.#asJson !== undefined
  }

  get target(): Target {
    return resolveTarget(this.options, this.io)
  }

  /** The columns of the terminal. Without a terminal no text is cut, because programs need whole ids. */
  get width(): number {
    return widthOf(this.io, this.io.stdout)
  }

  get isInteractive(): boolean {
    return this.io.stdin.isTTY === true && this.io.stderr.isTTY === true
  }

  /** The client is closed when the command ends. */
  async openClient(options?: OpenOptions): Promise<OpenClient> {
    const open = await openClient(this.target, this.#log, options)
    this.onClose(() => open.close())
    return open
  }

  onClose(close: () => Promise<void>): void {
    this.#closers.push(close)
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).toReversed()) await close()
  }

  /** Prints the answer: the document with `--json`, otherwise the text. */
  print(document: unknown, text: () => string, options?: { readonly isValue: true }): void {
    const indent = this.io.stdout.isTTY === true ? { indent: 2 } : undefined
    this.write(this.#asJson ? `${this.#asJson(document, { ...indent, ...options })}\n` : text())
  }

  /** Prints one of many answers. With `--json` each document is on a line of its own. */
  printLine(document: unknown, text: () => string): void {
    this.write(this.#asJson ? `${this.#asJson(document)}\n` : `${text()}\n`)
  }

  write(text: string): void {
    this.io.stdout.write(text)
  }

  /** Prints a note for people to stderr. */
  note(text: string): void {
    this.io.stderr.write(`${this.errorStyle.dim(text)}\n`)
  }

  get #log(): Logger {
    const say = (message: string) => this.io.stderr.write(`${this.errorStyle.yellow("warning")} ${message}\n`)
    return { debug: () => undefined, info: () => undefined, warn: say, error: say }
  }
}

function widthOf({ env }: Io, sink: Sink): number {
  const width = sink.columns ?? Number(env["COLUMNS"])
  return Number.isSafeInteger(width) && width > 0 ? width : Infinity
}
