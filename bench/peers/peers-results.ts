// The last whole run beside other engines, kept so that the page can be written again without it. Only a run with `--write-docs` writes it.

import { existsSync, readFileSync, writeFileSync } from "node:fs"
import type { PeersOutcome } from "./outcome.ts"

const file = new URL("./results.json", import.meta.url)

export const toText = (outcome: PeersOutcome) => `${JSON.stringify(outcome, undefined, 2)}\n`

export function savePeersResults(outcome: PeersOutcome): void {
  writeFileSync(file, toText(outcome))
}

/** Nothing where there never was such a run. */
export function loadPeersResults(): PeersOutcome | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as PeersOutcome) : undefined
}
