// Programs for Cloudflare Workflows run on Cloudflare's own local engine, on SQLite under Node, and in our Durable Objects, and show the same. What differs is
// listed in known-differences.ts. `WRITE_DOCS=1` writes docs/cloudflare-compatibility.md.

import { readFileSync, writeFileSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { compatibilityPage, pagePath } from "./compatibility-page.ts"
import { type Difference, differencesOf } from "./difference.ts"
import { allPrograms, features, workflowSources } from "./features.ts"
import { type Host, type HostName, type Outcome, runAll } from "./hosts/host.ts"
import { onSqlite } from "./hosts/on-sqlite.ts"
import { inOurObjects, onTheirEngine } from "./hosts/on-workerd.ts"
import { reasons } from "./known-differences.ts"
import type { Program } from "./program.ts"

const ours = { sqlite: "SQLite", objects: "Durable Objects" } as const
/** Programs wait for most of their time, so many of them run at once. */
const atOnce = 16

const hosts: Host[] = []
const outcomes = new Map<HostName, ReadonlyMap<string, Outcome>>()

beforeAll(async () => {
  const open = { theirs: onTheirEngine, sqlite: onSqlite, objects: inOurObjects }
  await Promise.all(
    Object.entries(open).map(async ([name, openHost]) => {
      const host = await openHost()
      hosts.push(host)
      outcomes.set(name as HostName, await runAll(host, allPrograms, atOnce))
    }),
  )
})

afterAll(async () => {
  await Promise.all(hosts.map((host) => host.close()))
})

function shownBy(name: HostName, { title }: Program): unknown {
  const outcome = outcomes.get(name)?.get(title)
  if (outcome?.shown === undefined) throw new Error(`on ${name} the program broke: ${outcome?.failure}`)
  return outcome.shown
}

const known = reasons.flatMap(({ differences }) => differences)
const knownOf = ({ title }: Program, on: HostName): readonly Difference[] =>
  known.filter(({ program, host = on }) => program === title && host === on).map(({ at, theirs, ours: here }) => ({ at, theirs, ours: here }))

describe.each(features)("$title", ({ programs }) => {
  describe.each(programs)("$title", (program) => {
    it.each(Object.keys(ours) as (keyof typeof ours)[])("on %s as there, but for the listed differences", (name) => {
      const found = differencesOf(shownBy("theirs", program), shownBy(name, program))
      expect(found.toSorted(byPlace), `${found.map(inLines).join("\n")}`).toEqual(knownOf(program, name).toSorted(byPlace))
    })
  })
})

function inLines({ at, theirs, ours: here }: Difference): string {
  return `${at}\n  theirs: ${JSON.stringify(theirs)}\n  ours:   ${JSON.stringify(here)}`
}

function byPlace(a: Difference, b: Difference): number {
  return a.at < b.at ? -1 : 1
}

describe("the list of programs", () => {
  it("has each title and each class once", () => {
    const titles = allPrograms.map(({ title }) => title)
    const classes = allPrograms.flatMap((program) => Object.keys(program.classes))
    expect(new Set(titles).size).toBe(titles.length)
    expect(classes.length).toBe(Object.keys(workflowSources).length)
  })

  it("has no program that shows nothing", () => {
    const nothing = allPrograms.filter((program) => Object.values(shownBy("theirs", program) as object).every((value) => value === undefined))
    expect(nothing.map(({ title }) => title)).toEqual([])
  })

  it("has the program of each known difference", () => {
    const titles = new Set(allPrograms.map(({ title }) => title))
    expect(known.filter(({ program }) => !titles.has(program))).toEqual([])
  })
})

it("docs/cloudflare-compatibility.md is what these lists give", () => {
  if (process.env["WRITE_DOCS"] === "1") writeFileSync(pagePath, compatibilityPage())
  expect(readFileSync(pagePath, "utf8"), "nobody edits it; write it again with `WRITE_DOCS=1 npm test -- test/side-by-side`").toBe(compatibilityPage())
})
