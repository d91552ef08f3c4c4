import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { NewTask, TaskStore } from "../../ports/task-store.ts"
import type { Store } from "../../ports/store.ts"
import { creation, found, turn } from "../../testing/store-conformance/sample.ts"
import { StoreBed } from "../../testing/store-conformance/store-bed.ts"
import { NodeSqlDriver } from "./driver/node-sql-driver.ts"
import { migrate } from "./schema/migrate.ts"
import { migrations } from "./schema/schema.ts"
import { sqliteTables } from "./sqlite-components.ts"
import { SqliteJournalStore } from "./sqlite-journal-store.ts"
import { sqlite } from "./sqlite-provider.ts"
import { DueTable } from "./tables/due-table.ts"
import { SqliteFlowTransaction } from "./tables/flow-transaction.ts"

let folder: string
let path: string
let bed: StoreBed
let worker: Store
let client: Store

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "perdure-sqlite-"))
  path = join(folder, "app.db")
  bed = new StoreBed(sqlite(path, { durability: "process", pollInterval: 1 }))
  worker = await bed.open()
  client = await bed.open()
})

afterEach(async () => {
  await bed.close()
  rmSync(folder, { recursive: true })
})

const tasksOf = (store: Store): TaskStore => found(store.tasks)
const task = (id: string): NewTask => ({ id, step: "s", attempt: 1, activity: "reserve", queue: "warehouse", key: "k", input: "1" })
const claimBy = (token: string, limit = 10) => ({ worker: token, token, activities: ["reserve"], limit, leaseMs: 30_000 })
const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)
const nextHint = (store: Store) =>
  new Promise<void>((resolve) => {
    const stop = store.onHint(() => {
      stop()
      resolve()
    })
  })

describe("two connections to a file with tasks", () => {
  it("the one that is not the worker claims, keeps, finishes, expires and announces too", async () => {
    expect([worker.role, client.role]).toEqual(["worker", "client"])
    await worker.journal.commit([creation("i"), turn("i", 3, { tasks: [task("t1"), task("t2")] })])
    expect(ids(await tasksOf(client).claim(claimBy("k")))).toEqual(["t1", "t2"])
    expect(await tasksOf(worker).claim(claimBy("l"))).toEqual([])
    await tasksOf(client).announce({ worker: "k", activities: ["reserve"] }, 30_000)
    expect(await tasksOf(worker).workers()).toEqual([{ worker: "k", activities: ["reserve"] }])
    expect(await tasksOf(client).keep([{ id: "t1", token: "k" }], 10_000)).toEqual(["kept"])
    expect(await tasksOf(client).finish([{ id: "t2", token: "k", ending: `{"value":"1"}`, completes: true }])).toEqual(["finished"])
    bed.now += 10_000
    expect(await tasksOf(client).expire(10)).toEqual({ instances: ["i"] })
    const inbox = await worker.journal.readInbox(["i"])
    expect(inbox.map(({ eventId, payload }) => [eventId, payload])).toEqual([
      ["t2", `{"value":"1"}`],
      ["t1", `{"expired":"lost"}`],
    ])
  })

  it("each give a task once, whatever the order of their claims", async () => {
    const many = Array.from({ length: 40 }, (_, n) => task(`t${n}`))
    await worker.journal.commit([creation("i"), turn("i", 3, { tasks: many })])
    const claims = await Promise.all(Array.from({ length: 10 }, (_, n) => tasksOf(n % 2 === 0 ? worker : client).claim(claimBy(`k${n}`, 4))))
    expect(claims.flatMap(ids).toSorted()).toEqual(ids(many).toSorted())
  })

  it("get a hint when the other has written tasks, and when it has finished one", async () => {
    await worker.journal.commit([creation("i")])
    let hint = nextHint(client)
    await worker.journal.commit([turn("i", 3, { tasks: [task("t1")] })])
    await hint
    hint = nextHint(worker)
    await tasksOf(client).claim(claimBy("k"))
    await hint
    hint = nextHint(worker)
    await tasksOf(client).finish([{ id: "t1", token: "k", ending: "{}", completes: true }])
    await hint
    expect(await worker.journal.readInbox(["i"])).toHaveLength(1)
  })

  it("wait for the file's lock, and hold none when they find nothing", async () => {
    await worker.journal.commit([creation("i"), turn("i", 3, { tasks: [task("t1")] })])
    const other = new NodeSqlDriver(path, "")
    other.exec("BEGIN IMMEDIATE")
    expect(await tasksOf(client).claim({ ...claimBy("k"), activities: ["ship"] })).toEqual([])
    expect(await tasksOf(client).expire(10)).toEqual({ instances: [] })
    let isClaimed = false
    const claiming = tasksOf(client)
      .claim(claimBy("k"))
      .then((claimed) => {
        isClaimed = true
        return claimed
      })
    await tasksOf(client).depths()
    expect(isClaimed).toBe(false)
    other.exec("COMMIT")
    other.close()
    expect(ids(await claiming)).toEqual(["t1"])
  })

  it("leave no rows of ended tasks in the file", async () => {
    const large = { ...task("t1"), input: `"${"x".repeat(400_000)}"` }
    await worker.journal.commit([creation("i"), turn("i", 3, { tasks: [large, { ...large, id: "t2" }, { ...large, id: "t3" }] })])
    await tasksOf(client).claim(claimBy("k", 1))
    await tasksOf(client).finish([{ id: "t1", token: "k", ending: "{}", completes: true }])
    await worker.journal.commit([turn("i", 4, { endsTasks: ["t2"] }), turn("i", 5, { endsTasks: "all" })])
    const reader = new NodeSqlDriver(path, "", true)
    const count = (table: string) => reader.prepare(`SELECT count(*) AS count FROM ${table}`).get()
    expect([count("perdure_task"), count("perdure_task_chunk")]).toEqual([{ count: 0 }, { count: 0 }])
    reader.close()
  })
})

it("a database without task queues takes turns that end all tasks, and refuses turns with tasks", async () => {
  const driver = new NodeSqlDriver(":memory:", "")
  migrate(driver, migrations)
  const now = () => bed.now
  const journal = new SqliteJournalStore(sqliteTables(driver, now, { flow: new SqliteFlowTransaction(driver, now), due: new DueTable(driver) }))
  expect(await journal.commit([creation("i"), turn("i", 3, { endsTasks: "all" })])).toEqual(["committed", "committed"])
  await expect(journal.commit([turn("i", 4, { tasks: [task("t1")] })])).rejects.toThrow("no task queues")
  driver.close()
})
