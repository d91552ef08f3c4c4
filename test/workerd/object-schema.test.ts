import { expect, it } from "vitest"
import { objectTableDefinitions } from "../../src/stores/sqlite/object/object-instance-tables.ts"
import { objectMigrations } from "../../src/stores/sqlite/object/object-schema.ts"
import { migrate } from "../../src/stores/sqlite/schema/migrate.ts"
import { ObjectSqlDriver } from "../../src/stores/sqlite/object/object-sql-driver.ts"
import { inBareObject } from "./bare-object.ts"

it("a table that is not there is made when a statement names it, also where that is part of a transaction", async () => {
  const found = await inBareObject((state) => {
    const driver = new ObjectSqlDriver(state.storage, objectTableDefinitions)
    migrate(driver, objectMigrations)
    const tables = () => driver.prepareReader("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'perdure_%' ORDER BY name")().flat()
    const before = tables()
    driver.transaction(() => driver.prepare("INSERT INTO perdure_slot VALUES ('k', 1)").run())
    const joined = driver.prepare("SELECT s.instance FROM perdure_slot s LEFT JOIN perdure_unique u ON u.instance = s.instance").all()
    expect(() => driver.exec("SELECT * FROM perdure_nothing")).toThrow(expect.objectContaining({ code: "STORE_FAILED" }))
    return [before, joined, tables()]
  })
  expect(found).toEqual([
    ["perdure_instance", "perdure_journal", "perdure_meta"],
    [{ instance: 1 }],
    ["perdure_instance", "perdure_journal", "perdure_meta", "perdure_slot", "perdure_unique"],
  ])
})

it("to read, or to delete from, a table that is not there makes none, and finds nothing until somebody writes to it", async () => {
  const found = await inBareObject((state) => {
    const driver = new ObjectSqlDriver(state.storage, objectTableDefinitions)
    const other = new ObjectSqlDriver(state.storage, objectTableDefinitions)
    migrate(driver, objectMigrations)
    const read = driver.prepare("SELECT instance FROM perdure_slot WHERE limit_key = ?")
    const seen = [read.all("k"), driver.prepare("DELETE FROM perdure_slot").write(), driver.prepareReader("SELECT instance FROM perdure_slot")()]
    expect(driver.prepare("SELECT name FROM sqlite_master WHERE name = 'perdure_slot'").get()).toBeUndefined()
    const counted = driver.prepare("SELECT count(*) AS n FROM perdure_unique").get()
    other.prepare("INSERT INTO perdure_slot VALUES ('k', 7)").run()
    return [...seen, counted, read.all("k")]
  })
  expect(found).toEqual([[], false, [], { n: 0 }, [{ instance: 7 }]])
})
