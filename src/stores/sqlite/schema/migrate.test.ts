import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { claimBy, creation, turn } from "../../../testing/store-conformance/sample.ts"
import { StoreBed } from "../../../testing/store-conformance/store-bed.ts"
import { migrate } from "./migrate.ts"
import { NodeSqlDriver } from "../driver/node-sql-driver.ts"
import { migrations } from "./schema.ts"
import { sqlite } from "../sqlite-provider.ts"

let folder: string
let path: string
let bed: StoreBed

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-sqlite-"))
  path = join(folder, "app.db")
  bed = new StoreBed(sqlite(path, { durability: "process" }))
})

afterEach(async () => {
  await bed.close()
  rmSync(folder, { recursive: true })
})

const changeFile = (...statements: string[]) => {
  const driver = new NodeSqlDriver(path, "")
  for (const statement of statements) driver.exec(statement)
  driver.close()
}

const newest = migrations.at(-1)!.version

describe("migrations", () => {
  it("are numbered one after the other, and say which code may still work on them", () => {
    expect(migrations.map((step) => step.version)).toEqual(migrations.map((_, index) => index + 1))
    for (const step of migrations) expect(step.compatible).toBeLessThanOrEqual(step.version)
  })

  it("a database from the future is refused with both versions named, and is left as it was", async () => {
    await (await bed.open()).close()
    changeFile("UPDATE perdure_meta SET version = 41, compatible = 40")
    const opening = bed.provider.open(bed.context)
    await expect(opening).rejects.toMatchObject({ code: "DATABASE_TOO_NEW", details: { databaseVersion: 41, knownVersion: newest } })
    await expect(opening).rejects.toThrow(new RegExp(`version 41\\b.*up to ${newest}\\b`))
    changeFile(`UPDATE perdure_meta SET version = ${newest}, compatible = ${newest}`)
    expect((await bed.open()).role).toBe("worker")
  })

  it("a database that is ahead, but says that code of our age may go on, is used as it is", async () => {
    const { journal } = await bed.open()
    await journal.commit([creation("i")])
    await bed.close()
    changeFile("ALTER TABLE perdure_instance ADD COLUMN later TEXT", `UPDATE perdure_meta SET version = ${newest + 1}`)
    const again = await bed.open()
    expect(await again.journal.commit([turn("i", 3), creation("j")])).toEqual(["committed", "committed"])
    expect((await again.directory.get("j"))?.id).toBe("j")
  })

  it("are applied once and in order, and all of a step or nothing of it", () => {
    const driver = new NodeSqlDriver(":memory:", "")
    const first = { version: 1, compatible: 1, statements: ["CREATE TABLE a (x)"] }
    const second = { version: 2, compatible: 1, statements: ["ALTER TABLE a ADD COLUMN y", "INSERT INTO a VALUES (1, 2)"] }
    const broken = { version: 3, compatible: 3, statements: ["INSERT INTO a VALUES (3, 4)", "INSERT INTO nowhere VALUES (1)"] }
    const rows = () => driver.prepare("SELECT * FROM a").all()
    migrate(driver, [first])
    migrate(driver, [first])
    migrate(driver, [first, second])
    migrate(driver, [first, second])
    expect(rows()).toEqual([{ x: 1, y: 2 }])
    expect(() => migrate(driver, [first, second, broken])).toThrow(/nowhere/)
    expect(rows()).toEqual([{ x: 1, y: 2 }])
    expect(driver.prepare("SELECT version, compatible FROM perdure_meta").all()).toEqual([{ version: 2, compatible: 1 }])
    migrate(driver, [first])
    driver.close()
  })

  it("a database from before flow control goes on as it was: what is due is claimed, and nothing of it has limits", async () => {
    const before = new NodeSqlDriver(path, "")
    migrate(before, migrations.slice(0, 1))
    const rows = [
      ["due", "running", 5, null],
      ["later", "sleeping", 2_000_000, null],
      ["owned", "running", null, "w"],
      ["mail", "waiting", null, null],
      ["over", "completed", null, null],
    ] as const
    for (const [id, status, dueAt, owner] of rows) {
      before
        .prepare(
          `INSERT INTO perdure_instance (id, incarnation, workflow, version, created_at, updated_at, status, due_at, owner, mail_at, run, run_position)
          VALUES (?, ?, 'order', '1', 1, 1, ?, ?, ?, ?, 1, 1)`,
        )
        .run(id, `${id}~1`, status, dueAt, owner, id === "mail" ? 7 : null)
    }
    before.close()
    const { journal, directory } = await bed.open()
    expect((await journal.claim(claimBy())).map(({ instance, crashed }) => [instance.id, crashed])).toEqual([
      ["due", false],
      ["mail", false],
      ["owned", true],
    ])
    expect(await journal.nextDueAt(claimBy().offers)).toBe(2_000_000)
    expect(await directory.get("over")).toEqual({
      id: "over",
      incarnation: "over~1",
      workflow: "order",
      version: "1",
      createdAt: 1,
      updatedAt: 1,
      tags: [],
      status: "completed",
      run: 1,
      runPosition: 1,
    })
  })

  it("leave a user's own tables and user_version in the same file alone", async () => {
    changeFile("CREATE TABLE instance (mine TEXT)", "INSERT INTO instance VALUES ('x')", "PRAGMA user_version = 7")
    const { journal } = await bed.open()
    await journal.commit([creation("i")])
    await bed.close()
    const driver = new NodeSqlDriver(path, "")
    expect(driver.prepare("SELECT mine FROM instance").all()).toEqual([{ mine: "x" }])
    expect(driver.prepare("PRAGMA user_version").get()).toEqual({ user_version: 7 })
    driver.close()
  })
})
