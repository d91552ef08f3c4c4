import { afterEach, beforeEach, expect, it } from "vitest"
import { creation, turn } from "../../testing/store-conformance/sample.ts"
import { fileTables } from "./file-tables.ts"
import { migrate } from "./migrate.ts"
import { NodeSqlDriver } from "./node-sql-driver.ts"
import { migrations } from "./schema.ts"
import { SqliteJournalStore } from "./sqlite-journal-store.ts"
import { inlineTextMax } from "./text-chunks.ts"

let driver: NodeSqlDriver
let store: SqliteJournalStore

beforeEach(() => {
  driver = new NodeSqlDriver(":memory:", "")
  migrate(driver, migrations)
  store = new SqliteJournalStore(fileTables(driver, () => 0))
})

afterEach(() => driver.close())

const ids = (count: number) => Array.from({ length: count }, (_, index) => `i${index}`)
const written = () =>
  driver
    .prepare(`SELECT i.id || '@' || j.position AS row FROM perdure_journal j JOIN perdure_instance i ON i.key = j.instance ORDER BY j.seq`)
    .all()
    .map((row) => row["row"])
const outcomes = (count: number, outcome: "committed" | "lost") => Array.from({ length: count }, () => outcome)

it("writes many turns in their order, also around one that is too large for its row", async () => {
  const all = ids(40)
  expect(await store.commit(all.map((id) => creation(id)))).toEqual(outcomes(40, "committed"))
  const large = `["${"x".repeat(inlineTextMax)}"]`
  const next = all.map((id, index) => ({ ...turn(id, 3), ...(index === 20 ? { entries: large } : undefined) }))
  expect(await store.commit(next)).toEqual(outcomes(40, "committed"))
  expect(written()).toEqual([...all.map((id) => `${id}@1`), ...all.map((id) => `${id}@3`)])
  expect((await store.readJournal("i20", 3))[0]?.entries).toBe(large)
})

it("knows a turn that is sent again in the same commit, and one that comes too late", async () => {
  await store.commit([creation("a"), creation("b")])
  const second = turn("a", 3)
  const late = { ...turn("a", 3), turn: "another" }
  expect(await store.commit([turn("b", 3), second, second, late])).toEqual(["committed", "committed", "committed", "lost"])
  expect(written()).toEqual(["a@1", "b@1", "b@3", "a@3"])
})

it("writes nothing where a position is taken that nobody can have taken, and then tells whose it is", async () => {
  const all = ids(30)
  await store.commit(all.map((id) => creation(id)))
  // By somebody who is not told apart from this connection: a tool in the same process.
  driver.exec(
    `INSERT INTO perdure_journal (instance, position, count, run, at, turn, entries) SELECT key, 3, 1, 1, 0, 'x', '[]' FROM perdure_instance WHERE id = 'i17'`,
  )
  const next = all.map((id) => turn(id, 3))
  await expect(store.commit(next)).rejects.toThrow(/UNIQUE/)
  expect(written()).toHaveLength(31)
  const alone = []
  for (const each of next) alone.push(...(await store.commit([each])))
  expect(alone).toEqual(all.map((id) => (id === "i17" ? "lost" : "committed")))
  expect(written()).toHaveLength(60)
})
