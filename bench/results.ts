// The last run of each section, as data in bench/results. A run is measured once, and the docs are written from it any number of times.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import type { Section, SectionRun } from "./section.ts"
import { sections } from "./section-list.ts"

const folder = new URL("./results/", import.meta.url)
const fileOf = (name: string) => new URL(`${name}.json`, folder)

export function saveResults(name: Section["name"], run: SectionRun): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(fileOf(name), toText(run))
}

/** Undefined if the section was never measured. */
export function loadResults(name: Section["name"]): SectionRun | undefined {
  const file = fileOf(name)
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as SectionRun) : undefined
}

/** Splits a run by section, because its workloads may belong to several sections. */
export function bySection(run: SectionRun): ReadonlyMap<Section["name"], SectionRun> {
  const parts = Object.values(sections).map(({ name, workloads }): [string, SectionRun] => [
    name,
    { ...run, results: run.results.filter((result) => workloads.some(({ id }) => id === result.workload)) },
  ])
  return new Map(parts.filter(([, { results }]) => results.length > 0))
}

export const toText = (run: SectionRun) => `${JSON.stringify(run, undefined, 2)}\n`
