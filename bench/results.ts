// The last run of each section, as data in bench/results. It is measured once and written about any number of times.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import type { Section, SectionRun } from "./section.ts"

const folder = new URL("./results/", import.meta.url)
const fileOf = (name: string) => new URL(`${name}.json`, folder)

export function saveResults(name: Section["name"], run: SectionRun): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(fileOf(name), toText(run))
}

/** Nothing where the section was never measured. */
export function loadResults(name: Section["name"]): SectionRun | undefined {
  const file = fileOf(name)
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as SectionRun) : undefined
}

export const toText = (run: SectionRun) => `${JSON.stringify(run, undefined, 2)}\n`
