import { afterEach, beforeEach, expect, it } from "vitest"
import type { InstanceState } from "../../ports/journal-store.ts"
import { completed, creation, event, found, turn } from "../../testing/store-conformance/sample.ts"
import { fileTables } from "./file-tables.ts"
import { migrate } from "./migrate.ts"
import { NodeSqlDriver } from "./node-sql-driver.ts"
import { migrations } from "./schema.ts"
import { SqliteJournalStore } from "./sqlite-journal-store.ts"

let driver: NodeSqlDriver
let store: SqliteJournalStore

beforeEach(() => {
  driver = new NodeSqlDriver(":memory:", "")
  migrate(driver, migrations)
  store = new SqliteJournalStore(fileTables(driver, () => 0))
})

afterEach(() => driver.close())

const ids = (count: number) => Array.from({ length: count }, (_, index) => `i${index}`)
const rows = () => driver.prepare(`SELECT status, due_at, end_position, updated_at FROM perdure_instance ORDER BY key`).all()
const sleeping = (dueAt: number): InstanceState => ({ status: "sleeping", run: 1, runPosition: 1, dueAt })

it.each([1, 3, 4, 20, 21, 40, 45])("%i instances that come to one state together get it, and no other does", async (count) => {
  await store.commit([...ids(count), "other"].map((id) => creation(id)))
  await store.commit([...ids(count).map((id) => turn(id, 3, { state: completed, at: 7 })), turn("other", 3)])
  const changed = { status: "completed", due_at: null, end_position: 2, updated_at: 7 }
  expect(rows()).toEqual([...ids(count).map(() => changed), { status: "waiting", due_at: null, end_position: null, updated_at: 1_000_000 }])
})

it("each gets its own, where their states or times differ", async () => {
  const all = ids(30)
  await store.commit(all.map((id) => creation(id)))
  await store.commit(all.map((id, index) => turn(id, 3, { state: sleeping(Math.floor(index / 7)), at: Math.floor(index / 5) })))
  expect(rows()).toEqual(all.map((_, index) => ({ status: "sleeping", due_at: Math.floor(index / 7), end_position: null, updated_at: Math.floor(index / 5) })))
})

it("the last of several states of one instance stays", async () => {
  const all = ids(6)
  await store.commit(all.map((id) => creation(id)))
  await store.commit([...all.map((id) => turn(id, 3, { state: sleeping(5) })), ...all.map((id) => turn(id, 4, { state: completed, at: 9 }))])
  expect(rows()).toEqual(all.map(() => ({ status: "completed", due_at: null, end_position: 2, updated_at: 9 })))
})

it("a message that a turn sends knows who has ended in the same commit", async () => {
  const all = ids(5)
  await store.commit([...all, "sender"].map((id) => creation(id)))
  const last = found(all.at(-1))
  await store.commit([...all.map((id) => turn(id, 3, { state: completed })), turn("sender", 3, { sends: [event(last), event("sender")] })])
  expect(await store.readInbox([last])).toEqual([])
  expect(await store.readInbox(["sender"])).toHaveLength(1)
})

it("nothing is left of a commit that failed", async () => {
  const all = ids(5)
  await store.commit(all.map((id) => creation(id)))
  const bad = turn("i4", 3, { state: completed, tags: [null as unknown as string] })
  await expect(store.commit([...all.slice(0, 4).map((id) => turn(id, 3, { state: completed })), bad])).rejects.toThrow()
  await store.commit([turn("i0", 3), turn("i1", 3)])
  expect(rows().map((row) => row["status"])).toEqual(all.map(() => "waiting"))
})
