// What really happened, written down outside the store: one file per process, append-only, each line with its own fsync.
// Only one process of a folder executes at a time ("lives"), so there is a total order over all lines.

import { fsyncSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs"
import { join } from "node:path"

/** What the code knew when it asked for something: results (by their nonce), sleeps, events, who won a race. */
export type Given = Readonly<Record<string, unknown>>

export type LedgerEntry =
  /** The process began. */
  | { readonly what: "life" }
  /** A step's function was called, */
  | { readonly what: "begin"; readonly instance: string; readonly step: string; readonly attempt: number; readonly key: string; readonly given: Given }
  /** came to an end, */
  | { readonly what: "end"; readonly instance: string; readonly step: string; readonly key: string; readonly nonce: string; readonly value: number }
  /** or threw. */
  | { readonly what: "fail"; readonly instance: string; readonly step: string; readonly key: string; readonly nonce: string }
  /** A step's function got this of its nested steps. */
  | { readonly what: "held"; readonly instance: string; readonly step: string; readonly value: unknown }
  /** Workflow code outside steps saw this; a crash may take it back while nothing depends on it. */
  | { readonly what: "saw"; readonly instance: string; readonly point: string; readonly value: unknown }

export type LedgerLine = LedgerEntry & {
  readonly life: number
  /** Within its life. */
  readonly seq: number
  /** Over all lives. */
  readonly order: number
  readonly at: number
}

export class Ledger {
  readonly #file: number
  readonly #life: number
  #seq = 0
  #nonces = 0

  constructor(folder: string, life: number) {
    this.#life = life
    this.#file = openSync(join(folder, `ledger-${life}.ndjson`), "a")
    this.write({ what: "life" })
  }

  write(entry: LedgerEntry): void {
    const line: Omit<LedgerLine, "order"> = { life: this.#life, seq: ++this.#seq, at: Date.now(), ...entry }
    writeSync(this.#file, `${JSON.stringify(line)}\n`)
    fsyncSync(this.#file)
  }

  /** Names one execution of one function: it tells whose result was recorded. */
  nonce(): string {
    return `${this.#life}.${++this.#nonces}`
  }
}

/** All lines of all lives, in the order in which they were written. */
export function readLedger(folder: string): readonly LedgerLine[] {
  const files = readdirSync(folder).filter((name) => /^ledger-\d+\.ndjson$/.test(name))
  const lives = files.map((name) => {
    // What follows the last line break was being written when the process was killed: it counts as not written.
    const lines = readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1)
    return lines.map((line) => JSON.parse(line) as Omit<LedgerLine, "order">)
  })
  // One that stood by may have begun long before it executed anything.
  const workedFrom = (life: readonly { readonly at: number }[]) => (life[1] ?? life[0])?.at ?? 0
  return lives
    .toSorted((a, b) => workedFrom(a) - workedFrom(b))
    .flat()
    .map((line, order) => ({ ...line, order }) as LedgerLine)
}
