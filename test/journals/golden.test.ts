// Golden journals. The version in the name of the folder recorded them, and every later version reads and replays them, for ever.

import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { entryTypes } from "../../src/core/journal/journal.ts"
import { decodeRow, encodeEntries } from "../../src/core/journal/turn-codec.ts"
import type { RowState } from "../../src/ports/journal-store.ts"
import { createTestEngine, expectReplay, memory } from "../../src/testing.ts"
import { type GoldenJournal, outcomeOf } from "./golden-journal.ts"
import { activities, delegating, receiving, retryDecided, undoneFromStart, undoneUntilFailure } from "./more-workflows.ts"
import { goldenCodec, goldenWorkflows } from "./workflows.ts"

const here = new URL("./", import.meta.url)

const goldens = readdirSync(here, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".json"))
  .sort()
  .map((path) => ({ path, golden: JSON.parse(readFileSync(new URL(path, here), "utf8")) as GoldenJournal }))

const workflows = [...goldenWorkflows, undoneFromStart, undoneUntilFailure, receiving, retryDecided, delegating]

function workflowOf({ journal: { instance } }: GoldenJournal) {
  const found = workflows.find(({ name, version }) => name === instance.workflow && version === instance.version)
  if (!found) throw new Error(`no workflow "${instance.workflow}" of version "${instance.version}" is kept beside the golden journals`)
  return found
}

it("every type of entry is in a golden journal", () => {
  const found = new Set(goldens.flatMap(({ golden }) => golden.journal.rows.flatMap((row) => decodeRow(row).map(({ entry }) => entry.type))))
  expect(entryTypes.filter((type) => !found.has(type))).toEqual([])
})

it("values in a row, as devalue's text and in blobs are in golden journals", () => {
  const texts = goldens.flatMap(({ golden }) => golden.journal.rows.map(({ entries }) => entries))
  const keys = [
    "value",
    "rich",
    "blob",
    "kept",
    "startAt",
    "timeoutAt",
    "retryAt",
    "eventId",
    "reason",
    "notRolledBack",
    "seed",
    "startedAt",
    "parent",
    "at",
    "schedule",
    "kind",
    "on",
    "eventIds",
    "tags",
    "sensitive",
    "coded",
    "memo",
    "queue",
    "details",
  ]
  expect(keys.filter((key) => !texts.some((text) => text.includes(`"${key}":`)))).toEqual([])
})

/** Opens an engine on a store that contains the instance of a golden journal, a second later. */
async function reopened(name: string, state: Pick<RowState, "status" | "dueAt">) {
  const { golden } = goldens.find(({ path }) => path.endsWith(`0.1.0/${name}.json`))!
  const { instance, rows } = golden.journal
  const store = memory()
  const opened = await store.open({ now: () => instance.createdAt, log: console, role: "worker" })
  const turns = rows.map((row, at) => ({
    ...row,
    follows: rows[at - 1]?.turn,
    instance: instance.id,
    incarnation: instance.incarnation,
    state: { ...state, run: 1, runPosition: 1 },
    ...(row.position === 1 ? { create: instance } : {}),
  }))
  expect(await opened.journal.commit(turns)).toEqual(rows.map(() => "committed"))
  await opened.close()
  return createTestEngine({ store, workflows: [workflowOf(golden)], activities, startAt: instance.createdAt + 1_000 })
}

it("an instance that was not over when its journal was recorded goes on", async () => {
  await using engine = await reopened("still-waiting", { status: "waiting" })
  await engine.sendEvent("still-waiting", "letter", { text: "at last" })
  expect(await engine.get("still-waiting").result()).toEqual({ two: 4, text: "at last", run: 1 })
})

it("an instance that was being undone when its journal was recorded is undone to the end", async () => {
  await using engine = await reopened("being-rolled-back", { status: "sleeping", dueAt: 0 })
  await engine.skip("10s")
  expect(await engine.get("being-rolled-back").describe()).toMatchObject({ status: "failed", notRolledBack: ["charge"] })
})

it("an instance whose started steps were being undone when its journal was recorded is undone to the end", async () => {
  await using engine = await reopened("being-rolled-back-from-start", { status: "sleeping", dueAt: 0 })
  await engine.skip("10s")
  const instance = engine.get("being-rolled-back-from-start")
  const undone = (await instance.steps()).filter(({ id, status }) => id.endsWith("#rollback") && status === "completed")
  expect(undone.map(({ id }) => id)).toEqual(["ship", "print", "charge", "quick", "slow"].map((id) => `${id}#rollback`))
  const { status, notRolledBack } = await instance.describe()
  expect({ status, notRolledBack }).toEqual({ status: "failed", notRolledBack: undefined })
})

it("an activity whose task the store does not have begins again", async () => {
  await using engine = await reopened("being-delegated", { status: "waiting", dueAt: 0 })
  await engine.skip("2m")
  const instance = engine.get("being-delegated")
  expect(await instance.result()).toEqual({ doubled: 42, counted: { pages: 3 }, shipped: "START_TIMEOUT" })
  expect((await instance.steps()).at(-1)).toMatchObject({ id: "ship", attempts: 2 })
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
    expect(outcomeOf(await expectReplay(golden.journal, workflowOf(golden), { codec: goldenCodec }))).toEqual(golden.replays)
  })

  it("replays from any of its turns on without disagreement", async () => {
    for (let count = 1; count < rows.length; count++) {
      const journal = { ...golden.journal, rows: rows.slice(0, count) }
      await expect(expectReplay(journal, workflowOf(golden), { codec: goldenCodec }), `the first ${count} of ${rows.length} turns`).resolves.toBeDefined()
    }
  })
})
