// The last whole run beside other engines, and a later one beside some of them, kept so that the page can be written again without them. Only a run
// with `--write-docs` writes them.

import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import type { PeersOutcome } from "./outcome.ts"

const whole = new URL("./results.json", import.meta.url)
const later = new URL("./later-results.json", import.meta.url)

export interface PeersResults {
  readonly whole?: PeersOutcome | undefined
  /** A run with some engines, after the whole run. */
  readonly later?: PeersOutcome | undefined
}

export const toText = (outcome: PeersOutcome) => `${JSON.stringify(outcome, undefined, 2)}\n`

export function savePeersResults(outcome: PeersOutcome, isWhole: boolean): void {
  writeFileSync(isWhole ? whole : later, toText(outcome))
  if (isWhole) rmSync(later, { force: true })
}

export function loadPeersResults(): PeersResults {
  return { whole: load(whole), later: load(later) }
}

function load(file: URL): PeersOutcome | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as PeersOutcome) : undefined
}
