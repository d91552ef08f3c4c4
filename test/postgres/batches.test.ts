// Reads and writes of many instances at once have the same outcome as for each instance alone.

import { setTimeout as delay } from "node:timers/promises"
import { afterAll, afterEach, expect, it } from "vitest"
import { type Context, workflow } from "../../src/index.ts"
import type { Store } from "../../src/ports/store.ts"
import { completed, creation, limited, slots, turn } from "../../src/testing/store-conformance/sample.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"
import { ClusterBed } from "./cluster-bed.ts"

const database = new TestDatabase()
const bed = new ClusterBed(database)
afterEach(() => bed.close())
afterAll(() => database.drop())

const flow = workflow("flow", async (ctx: Context, input: { readonly n: number; readonly size: number }) => {
  await ctx.do("a", () => input.n)
  if (input.n === 1) throw new TypeError("one is odd")
  if (input.n === 2) await ctx.waitForEvent("never")
  return { n: input.n, run: ctx.instance.run, text: "x".repeat(input.size) }
})

async function statusOf({ directory, journal }: Store, id: string) {
  const row = await directory.get(id)
  if (row === undefined) return undefined
  if (row.endPosition === undefined) return { status: row.status }
  const rows = await journal.readJournal(id, row.endPosition)
  return { status: row.status, end: { position: row.endPosition, rows: rows.slice(0, 1) } }
}

it("statuses of instances: ended in every way, with long results, restarted, under way, and absent", async () => {
  const { engines, settle } = await bed.open([flow], ["worker", "client"])
  const [worker, client] = engines as [(typeof engines)[0], (typeof engines)[0]]
  const inputs = [0, 1, 2, 3, 4].map((n) => ({ workflow: flow, id: `i${n}`, input: { n, size: n === 3 ? 300_000 : 3 } }))
  await worker.startBatch(inputs)
  await settle()
  await worker.get("i4").restart()
  await settle()
  const { store } = client.components
  const ids = ["i0", "nobody", "i1", "i2", "i3", "i4", "i0"]
  const statuses = await Promise.all(ids.map(async (id) => store.directory.statusWithEnding?.(id)))
  expect(statuses).toEqual(await Promise.all(ids.map((id) => statusOf(store, id))))
  expect(statuses.map((statusWithEnding) => statusWithEnding?.status)).toEqual([
    "completed",
    undefined,
    "failed",
    "waiting",
    "completed",
    "completed",
    "completed",
  ])
  await worker.get("i2").terminate("enough")
  const results = await Promise.allSettled(["i0", "i1", "i2", "i3", "i4", "nobody"].map((id) => client.get(id).result()))
  expect(results.map((result) => (result.status === "fulfilled" ? result.value : (result.reason as unknown)))).toMatchObject([
    { n: 0, run: 1 },
    { message: "one is odd" },
    { code: "TERMINATED" },
    { n: 3, text: "x".repeat(300_000) },
    { n: 4, run: 2 },
    { code: "NOT_FOUND" },
  ])
})

it("an ended instance whose journal is not there says so, and holds up none of those asked for with it", async () => {
  const { engines, schema } = await bed.open([flow], ["client"])
  const [client] = engines as [(typeof engines)[0]]
  const { journal } = client.components.store
  const state = { ...completed, endPosition: 1 }
  await journal.commit([creation("whole", { state }), creation("gone", { state })])
  await database.pool.query(`DELETE FROM "${schema}".journal WHERE instance = (SELECT key FROM "${schema}".instance WHERE id = 'gone')`)
  const [whole, gone] = await Promise.allSettled(["whole", "gone"].map((id) => client.components.resultWaiters.wait(id, undefined, false)))
  expect(whole?.status).toBe("fulfilled")
  expect(gone).toMatchObject({ status: "rejected", reason: { code: "STORE_FAILED" } })
})

it("a batch keeps texts as they are, also those with quotes, control characters, or nothing in them", async () => {
  const { engines } = await bed.open([flow], ["client"])
  const { journal } = engines[0]!.components.store
  const texts = ['{"a":"\\"b\\""}', "a\u001fb", "\u001e\u001f\u001f", "", "\\", "NULL", "{}", ",", "\0", "\ud800"]
  const batch = texts.map((entries, n) => ({ ...creation(`i${n} "quoted\\" \u001f`), entries }))
  expect(await journal.commit(batch)).toEqual(texts.map(() => "committed"))
  for (const { instance, entries } of batch) expect((await journal.readJournal(instance, 1))[0]?.entries).toBe(entries)
  const later = batch.map(({ instance, incarnation }, n) => turn(instance, 3, { incarnation, entries: texts.at(-n) ?? "" }))
  expect(await journal.commit(later)).toEqual(texts.map(() => "committed"))
  for (const { instance, entries } of later) expect((await journal.readJournal(instance, 3))[0]?.entries).toBe(entries)
})

it.each([
  ["a few turns", 3],
  ["a batch", 12],
])("%s of which another process has just taken a position lose that turn alone, and one that was sent twice is committed", async (_, count) => {
  const { engines, schema } = await bed.open([flow], ["client"])
  const { journal } = engines[0]!.components.store
  const ids = Array.from({ length: count }, (_, n) => String.fromCharCode(97 + n))
  await journal.commit(ids.map((id) => creation(id)))
  const turns = ids.map((id) => turn(id, 3))
  const other = await database.pool.connect()
  await other.query("BEGIN")
  // These rows are not visible to a look-up of the next position, but they block its insertion.
  for (const [id, name] of [
    ["a", "another"],
    ["b", turns[1]!.turn],
  ])
    await other.query(
      `INSERT INTO "${schema}".journal (instance, position, count, run, at, seq, turn, entries)
      SELECT key, 3, 1, 1, 0, nextval('"${schema}".journal_seq'), $2, '[]' FROM "${schema}".instance WHERE id = $1`,
      [id, name],
    )
  const committing = journal.commit(turns)
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE ANY ($1)`
  while ((await database.pool.query(waiting, [[`%"${schema}".write_%`, `%"${schema}".append_single_turn%`]])).rows.length === 0) await delay(5)
  await other.query("COMMIT")
  other.release()
  expect(await committing).toEqual(["lost", ...ids.slice(1).map(() => "committed")])
  expect((await journal.readJournal("c", 3)).map((row) => row.turn)).toEqual([turns[2]!.turn])
})

it("a few turns are written with the state that some of them give, whatever the order, and those with limits go the other way", async () => {
  const { engines } = await bed.open([flow], ["client"])
  const { journal, directory } = engines[0]!.components.store
  const ids = ["d", "a", "c", "b"]
  await journal.commit([...ids.map((id) => creation(id)), limited("slow", [slots(1)])])
  const turns = [
    turn("d", 3, { state: completed }),
    turn("a", 3),
    turn("c", 3, { state: { status: "sleeping", dueAt: 9, run: 1, runPosition: 1 } }),
    turn("b", 3),
  ]
  expect(await journal.commit(turns)).toEqual(ids.map(() => "committed"))
  expect(await Promise.all(ids.map(async (id) => (await directory.get(id))?.status))).toEqual(["completed", "waiting", "sleeping", "waiting"])
  for (const { instance, turn: name } of turns) expect((await journal.readJournal(instance, 3)).map((row) => row.turn)).toEqual([name])
  // Sent again, together with a new turn and a turn that comes too late.
  expect(await journal.commit([turns[1]!, turn("c", 4), turn("b", 3, { turn: "late" })])).toEqual(["committed", "committed", "lost"])
  expect(await journal.commit([turn("slow", 3), turn("a", 4)])).toEqual(["committed", "committed"])
})

it("journals that are read at the same moment are those that are read one after another, from wherever they are wanted", async () => {
  const { engines } = await bed.open([flow], ["client"])
  const { journal } = engines[0]!.components.store
  const ids = Array.from({ length: 60 }, (_, n) => `i${n}`)
  await journal.commit(ids.map((id) => creation(id)))
  await journal.commit(ids.slice(0, 30).map((id) => turn(id, 3, { count: 3 })))
  await journal.commit(ids.slice(0, 10).map((id) => turn(id, 6, { blobs: ["one", "two"] })))
  const wanted = [...ids, "nobody"].flatMap((id) => [1, 3, 6, 9].map((from) => ({ id, from })))
  const together = await Promise.all(wanted.map(({ id, from }) => journal.readJournal(id, from)))
  for (const [at, { id, from }] of wanted.entries()) expect(together[at]).toEqual(await journal.readJournal(id, from))
  expect(together.map((rows) => rows.length).slice(0, 4)).toEqual([3, 2, 1, 0])
})
