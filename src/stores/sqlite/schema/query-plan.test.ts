import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { Filter } from "../../../ports/directory.ts"
import type { SqlDriver } from "../../../ports/sql-driver.ts"
import { claimBy, completed, creation, turn } from "../../../testing/store-conformance/sample.ts"
import { pageQuery } from "../tables/instance-query.ts"
import { migrate } from "./migrate.ts"
import { NodeSqlDriver } from "../driver/node-sql-driver.ts"
import { migrations } from "./schema.ts"
import { SqliteDirectory } from "../sqlite-directory.ts"
import { SqliteFlowControl } from "../sqlite-flow-control.ts"
import { SqliteJournalStore } from "../sqlite-journal-store.ts"
import { SqliteScheduleStore } from "../sqlite-schedule-store.ts"
import { SqliteTaskStore } from "../sqlite-task-store.ts"
import { fileTables } from "../file-components.ts"

let driver: NodeSqlDriver

beforeEach(() => {
  driver = new NodeSqlDriver(":memory:", "")
  migrate(driver, migrations)
})

afterEach(() => driver.close())

const planOf = (sql: string) =>
  driver
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map((row) => String(row["detail"]))

/** The statements that a store prepares. */
const preparedBy = (use: (recorder: SqlDriver) => void) => {
  const statements: string[] = []
  use({
    prepare: (sql) => {
      statements.push(sql)
      return driver.prepare(sql)
    },
    prepareReader: (sql) => {
      statements.push(sql)
      return driver.prepareReader(sql)
    },
    exec: (sql) => driver.exec(sql),
    transaction: (fn) => driver.transaction(fn),
    within: (fn) => driver.within(fn),
    isOutside: () => driver.isOutside(),
    version: () => driver.version(),
  })
  return statements
}

describe("statements", () => {
  it("no prepared statement scans a whole table or sorts", () => {
    const statements = preparedBy((recorder) => {
      const tables = fileTables(recorder, () => 0)
      new SqliteJournalStore(tables)
      new SqliteDirectory(tables)
      new SqliteScheduleStore(tables)
      new SqliteFlowControl(tables)
      new SqliteTaskStore(tables)
    })
    expect(statements.length).toBeGreaterThan(80)
    const slow = statements.filter((sql) => planOf(sql).some((step) => /SCAN perdure|SCAN [ijmpstu]\b|TEMP B-TREE/.test(step)))
    expect(slow).toEqual([])
  })

  it("claims use their indexes", () => {
    const statements = preparedBy((recorder) => fileTables(recorder, () => 0)).filter((sql) => /workflow = \? AND (i\.)?version = \?/.test(sql))
    const plans = statements.map((sql) => planOf(sql).join(" | "))
    const by = (index: string, ...conditions: string[]) =>
      `SEARCH i USING INDEX perdure_instance_${index} (workflow=? AND version=? AND ${conditions.join(" AND ")})`
    expect(plans).toEqual([
      by("claimable", "queue=?", "<expr>=?", "claimable_at<?"),
      by("priority", "queue=?", "priority=?", "<expr>=?", "claimable_at<?"),
      by("priority", "queue=?", "priority<?"),
      by("claimable", "queue=?", "<expr>=?", "claimable_at>?"),
      by("priority", "queue=?", "priority=?", "<expr>=?", "claimable_at>?"),
      by("lane", "queue=?", "priority=?", "<expr>=?", "lane>?"),
      by("lane", "queue=?", "priority=?", "<expr>=?", "lane=?", "claimable_at<?"),
      by("claimable", "queue>?"),
      by("priority", "queue>?"),
    ])
  })

  it("the first of a queue, the length of the queue and the slots are found by an index", () => {
    const statements = preparedBy((recorder) => new SqliteFlowControl(fileTables(recorder, () => 0))).filter((sql) =>
      /WHERE (queued_for|limit_key|s\.limit_key)/.test(sql),
    )
    expect(statements.length).toBeGreaterThan(6)
    for (const sql of statements) expect(planOf(sql)[0]).toMatch(/SEARCH \w+ USING (COVERING )?(INDEX perdure_instance_queued|PRIMARY KEY|INDEX perdure_rate)/)
  })

  it("tasks are claimed, expired and ended by their indexes", () => {
    const plansOf = (pattern: RegExp) => {
      const all = preparedBy((recorder) => new SqliteTaskStore(fileTables(recorder, () => 0)))
      return all.filter((sql) => pattern.test(sql)).map((sql) => planOf(sql)[0])
    }
    const index = "INDEX perdure_task_waiting"
    expect(plansOf(/^SELECT (queue|activity|seq)\b.* FROM perdure_task WHERE token IS/)).toEqual([
      `SEARCH perdure_task USING COVERING ${index} (queue>?)`,
      `SEARCH perdure_task USING COVERING ${index} (queue=? AND activity>?)`,
      `SEARCH perdure_task USING ${index} (queue=? AND activity=?)`,
      `SEARCH perdure_task USING COVERING ${index} (queue>?)`,
      `SEARCH perdure_task USING COVERING INDEX perdure_task_claimed (queue>?)`,
    ])
    expect(plansOf(/expires_at <= \?/)).toEqual(["SEARCH t USING INDEX perdure_task_expires (expires_at<?)"])
    expect(plansOf(/FROM perdure_task WHERE instance = \?/)).toEqual([
      "SEARCH perdure_task USING INDEX perdure_task_instance (instance=?)",
      "SEARCH perdure_task_chunk USING PRIMARY KEY (task=?)",
    ])
  })

  it("lists follow an index in order; only a prefix of ids is sorted", () => {
    const filters: [Filter, string | undefined, RegExp][] = [
      [{}, undefined, /perdure_instance_created/],
      [{}, "failed", /perdure_instance_status/],
      [{ workflow: "a" }, "failed", /perdure_instance_workflow \(workflow=\? AND status=\? AND/],
      [{ workflow: "a", version: "1" }, "failed", /perdure_instance_workflow \(workflow=\? AND status=\? AND/],
      [{ tag: "a", idPrefix: "b" }, "failed", /SEARCH t USING PRIMARY KEY/],
      [{ queue: "gpu" }, "failed", /perdure_instance_queue \(queue=\? AND status=\? AND/],
      [{ queue: "gpu", workflow: "a" }, "failed", /perdure_instance_queue \(queue=\? AND status=\? AND/],
      [{ queue: "default" }, undefined, /perdure_instance_created/],
      [{ since: 1, until: 2 }, undefined, /perdure_instance_created \(created_at>\? AND created_at<\?\)/],
      [{ idPrefix: "b", workflow: "a" }, "failed", /\(id>\? AND id<\?\)/],
    ]
    for (const [filter, status, index] of filters) {
      const plan = planOf(pageQuery(filter, status, "newest", { createdAt: 1, key: 1 }, 10).sql)
      expect(plan[0]).toMatch(index)
      expect(plan.join().includes("TEMP B-TREE")).toBe(filter.idPrefix !== undefined && filter.tag === undefined)
    }
  })
})

describe("the order of appending", () => {
  it("gives no number twice even if the last rows are removed", async () => {
    const tables = fileTables(driver, () => 0)
    const journal = new SqliteJournalStore(tables)
    const directory = new SqliteDirectory(tables)
    const last = () => Number(driver.prepare("SELECT max(seq) AS seq FROM perdure_journal").get()?.["seq"])
    await journal.commit([creation("a"), creation("b"), turn("b", 3, { state: completed })])
    for (let round = 1; round < 4; round++) {
      const before = last()
      await directory.remove(["b"])
      expect(last()).toBe(before)
      await journal.commit([creation("b", { state: completed })])
      expect(last()).toBe(before + 1)
    }
    await journal.commit([turn("a", 3, { state: completed })])
    await directory.remove(["a", "b"])
    expect(driver.prepare("SELECT count(*) AS count FROM perdure_journal").get()).toEqual({ count: 1 })
    expect(await journal.claim(claimBy())).toEqual([])
  })

  it("a removed instance leaves no rows behind", async () => {
    const tables = fileTables(driver, () => 0)
    const journal = new SqliteJournalStore(tables)
    const directory = new SqliteDirectory(tables)
    await journal.commit([creation("a", { tags: ["t"] })])
    await directory.deliver([{ instance: "a", kind: "event", at: 1, payload: "x".repeat(600_000) }])
    await journal.commit([turn("a", 3, { blobs: ["b"], state: completed })])
    await directory.remove(["a"])
    for (const table of ["instance", "tag", "journal_chunk", "inbox", "inbox_chunk"]) {
      expect(driver.prepare(`SELECT count(*) AS count FROM perdure_${table}`).get()).toEqual({ count: 0 })
    }
  })
})
