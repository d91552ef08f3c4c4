import { expect, it } from "vitest"
import { objectMigrations, objectParts } from "../../src/stores/sqlite/object-schema.ts"
import { migrate } from "../../src/stores/sqlite/migrate.ts"
import { ObjectSqlDriver } from "../../src/stores/sqlite/object-sql-driver.ts"
import { inBareObject } from "./bare-object.ts"

it("a table that is not there is made when a statement names it, also where that is part of a transaction", async () => {
  const found = await inBareObject((state) => {
    const driver = new ObjectSqlDriver(state.storage, objectParts)
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
