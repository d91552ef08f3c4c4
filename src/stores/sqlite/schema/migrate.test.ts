import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { creation, turn } from "../../../testing/store-conformance/sample.ts"
import type { SqlDriver } from "../../../ports/sql-driver.ts"
import { StoreBed } from "../../../testing/store-conformance/store-bed.ts"
import { migrate } from "./migrate.ts"
import { NodeSqlDriver } from "../driver/node-sql-driver.ts"
import { type Migration, migrations } from "./schema.ts"
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
  it("have consecutive numbers, and say which older code may use the database", () => {
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

  it("a newer database is used as it is if it says that code of this version may use it", async () => {
    const { journal } = await bed.open()
    await journal.commit([creation("i")])
    await bed.close()
    changeFile("ALTER TABLE perdure_instance ADD COLUMN later TEXT", `UPDATE perdure_meta SET version = ${newest + 1}`)
    const again = await bed.open()
    expect(await again.journal.commit([turn("i", 3), creation("j")])).toEqual(["committed", "committed"])
    expect((await again.directory.get("j"))?.id).toBe("j")
  })

  it("are applied once and in order, and each one wholly or not at all", () => {
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

  it("a database that another process has migrated meanwhile is left as that process made it", () => {
    const driver = new NodeSqlDriver(path, "")
    const first = { version: 1, compatible: 1, statements: ["CREATE TABLE a (x)"] }
    const second = { version: 2, compatible: 1, statements: ["ALTER TABLE a ADD COLUMN y"] }
    const third = { version: 3, compatible: 3, statements: ["ALTER TABLE a ADD COLUMN z"] }
    /** Another process migrates the database between the first look at the version and the transaction. */
    const overtakenBy = (migrationsOfOther: readonly Migration[]): SqlDriver => ({
      prepare: (sql) => driver.prepare(sql),
      prepareReader: (sql) => driver.prepareReader(sql),
      exec: (sql) => driver.exec(sql),
      transaction: (fn) => {
        const other = new NodeSqlDriver(path, "")
        migrate(other, migrationsOfOther)
        other.close()
        return driver.transaction(fn)
      },
      within: (fn) => driver.within(fn),
      isOutside: () => driver.isOutside(),
      version: () => driver.version(),
    })
    const stored = () => driver.prepare("SELECT version, compatible FROM perdure_meta").all()
    migrate(overtakenBy([first]), [first])
    expect(stored()).toEqual([{ version: 1, compatible: 1 }])
    migrate(overtakenBy([first, second, { ...third, compatible: 1 }]), [first, second])
    expect(stored()).toEqual([{ version: 3, compatible: 1 }])
    driver.exec("UPDATE perdure_meta SET version = 2; ALTER TABLE a DROP COLUMN z")
    expect(() => migrate(overtakenBy([first, second, { ...third, compatible: 4, version: 4 }]), [first, second, { ...third, compatible: 1 }])).toThrow(
      expect.objectContaining({ code: "DATABASE_TOO_NEW" }),
    )
    expect(stored()).toEqual([{ version: 4, compatible: 4 }])
    driver.close()
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
