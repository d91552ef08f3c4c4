// Golden journals: recorded by the version in the folder's name, read and replayed by every later one, for ever.

import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { entryTypes } from "../../src/core/journal.ts"
import { decodeRow, encodeEntries } from "../../src/core/turn-codec.ts"
import { createTestEngine, expectReplay, memory } from "../../src/testing.ts"
import { type GoldenJournal, outcomeOf } from "./golden-journal.ts"
import { goldenWorkflows, steered } from "./workflows.ts"

const here = new URL("./", import.meta.url)

const goldens = readdirSync(here, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".json"))
  .sort()
  .map((path) => ({ path, golden: JSON.parse(readFileSync(new URL(path, here), "utf8")) as GoldenJournal }))

function workflowOf({ journal: { instance } }: GoldenJournal) {
  const found = goldenWorkflows.find(({ name, version }) => name === instance.workflow && version === instance.version)
  if (!found) throw new Error(`no workflow "${instance.workflow}" of version "${instance.version}" is kept beside the golden journals`)
  return found
}

it("every type of entry is in a golden journal", () => {
  const found = new Set(goldens.flatMap(({ golden }) => golden.journal.rows.flatMap((row) => decodeRow(row).map(({ entry }) => entry.type))))
  expect(entryTypes.filter((type) => !found.has(type))).toEqual([])
})

it("values in a row, as devalue's text and in blobs are in golden journals", () => {
  const texts = goldens.flatMap(({ golden }) => golden.journal.rows.map(({ entries }) => entries))
  const keys = ["value", "rich", "blob", "kept", "startAt", "timeoutAt", "retryAt", "eventId", "reason"]
  expect(keys.filter((key) => !texts.some((text) => text.includes(`"${key}":`)))).toEqual([])
})

it("an instance that was not over when its journal was recorded goes on", async () => {
  const { journal } = goldens.find(({ path }) => path.endsWith("0.1.0/still-waiting.json"))!.golden
  const { instance, rows } = journal
  const store = memory()
  const opened = await store.open({ now: () => instance.createdAt, log: console, role: "worker" })
  const state = { status: "waiting", run: 1, runPosition: 1 } as const
  const turns = rows.map((row) => ({
    ...row,
    instance: instance.id,
    incarnation: instance.incarnation,
    state,
    ...(row.position === 1 ? { create: instance } : {}),
  }))
  expect(await opened.journal.commit(turns)).toEqual(rows.map(() => "committed"))
  await opened.close()

  await using engine = await createTestEngine({ store, workflows: [steered], startAt: instance.createdAt + 1_000 })
  await engine.sendEvent(instance.id, "letter", { text: "at last" })
  expect(await engine.get(steered, instance.id).result()).toEqual({ two: 4, text: "at last", run: 1 })
})

describe.each(goldens)("$path", ({ golden }) => {
  const { rows } = golden.journal

  it("is read, and written again to the same text", () => {
    for (const row of rows) {
      const { text, blobs } = encodeEntries(decodeRow(row).map(({ entry }) => entry))
      expect(text).toBe(row.entries)
      expect(blobs).toEqual(row.blobs)
    }
  })

  it("has every position once, and as many entries in each row as the row says", () => {
    let next = 1
    for (const row of rows) {
      expect(row.position).toBe(next)
      expect(decodeRow(row)).toHaveLength(row.count)
      next += row.count
    }
  })

  it("replays to what it came to then", async () => {
    expect(outcomeOf(await expectReplay(golden.journal, workflowOf(golden)))).toEqual(golden.replays)
  })

  it("replays from any of its turns on without disagreement", async () => {
    for (let count = 1; count < rows.length; count++) {
      const journal = { ...golden.journal, rows: rows.slice(0, count) }
      await expect(expectReplay(journal, workflowOf(golden)), `the first ${count} of ${rows.length} turns`).resolves.toBeDefined()
    }
  })
})
