import { expect, it } from "vitest"
import { storageWithReset } from "../../src/stores/sqlite/object/storage-with-reset.ts"
import { ObjectSqlDriver } from "../../src/stores/sqlite/object/object-sql-driver.ts"
import { inBareObject } from "./bare-object.ts"

/** Calls `fn` inside a fresh object with a table. */
function withTable<T>(fn: (driver: ObjectSqlDriver) => T): Promise<T> {
  return inBareObject((state) => {
    const driver = new ObjectSqlDriver(state.storage)
    driver.exec("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT UNIQUE, bytes BLOB)")
    return fn(driver)
  })
}

it("rows come back as they do from node:sqlite: numbers, text, bytes and null", async () => {
  const rows = await withTable((driver) => {
    driver.prepare("INSERT INTO note VALUES (?, ?, ?), (?, ?, ?)").run(9_007_199_254_740_991, "a", new Uint8Array([1, 2]), 2n, "ü😀", null)
    const select = "SELECT * FROM note ORDER BY id"
    return [driver.prepare(select).get(), driver.prepare(select).all().at(1), ...driver.prepareReader(select)()]
  })
  const two = { id: 2, text: "ü😀", bytes: null }
  const large = { id: 9_007_199_254_740_991, text: "a", bytes: new Uint8Array([1, 2]) }
  expect(rows).toEqual([two, large, Object.values(two), Object.values(large)])
})

it("counts the rows that a statement changed, and not what it wrote to indexes", async () => {
  const changes = await withTable((driver) => {
    const insert = driver.prepare("INSERT INTO note (text) VALUES (?), (?) ON CONFLICT DO NOTHING")
    const first = insert.run("a", "b")
    const counted = { changes: first.changes, lastInsertRowid: first.lastInsertRowid }
    return [counted, insert.run("a", "c").changes, insert.run("a", "b").changes, insert.write("a", "d"), insert.write("a", "b")]
  })
  expect(changes).toEqual([{ changes: 2, lastInsertRowid: 2 }, 1, 0, true, false])
})

it("a transaction that throws leaves nothing behind", async () => {
  const texts = await withTable((driver) => {
    const insert = driver.prepare("INSERT INTO note (text) VALUES (?)")
    driver.transaction(() => insert.run("kept"))
    expect(() =>
      driver.transaction(() => {
        insert.run("lost")
        throw new Error("no")
      }),
    ).toThrow("no")
    return driver.prepareReader("SELECT text FROM note")()
  })
  expect(texts).toEqual([["kept"]])
})

it("tells by its code what a statement did wrong", async () => {
  await withTable((driver) => {
    const insert = driver.prepare("INSERT INTO note (text) VALUES (?)")
    insert.run("a")
    expect(() => insert.run("a")).toThrow(expect.objectContaining({ code: "STORE_FAILED", details: { sqliteCode: 19 } }))
    expect(() => driver.exec("SELECT nothing")).toThrow(expect.objectContaining({ code: "STORE_FAILED", details: { sqliteCode: 1 } }))
    expect(() => driver.exec("PRAGMA user_version")).toThrow(expect.objectContaining({ code: "STORE_FAILED", details: { sqliteCode: 23 } }))
  })
})

it("refuses whole numbers that the object's database would round", async () => {
  await withTable((driver) => {
    const insert = driver.prepare("INSERT INTO note (id) VALUES (?)")
    expect(() => insert.run(2n ** 53n)).toThrow(expect.objectContaining({ code: "SQL_REFUSED" }))
    expect(() => insert.run(-(2n ** 53n) - 1n)).toThrow(expect.objectContaining({ code: "SQL_REFUSED" }))
    expect(insert.write(2n ** 53n - 1n)).toBe(true)
  })
})

it("one driver of an object is told what another has written, and not what it wrote itself", async () => {
  await inBareObject((state) => {
    const [one, other] = [new ObjectSqlDriver(state.storage), new ObjectSqlDriver(state.storage)]
    const told: string[] = []
    const stop = one.onOtherWrites(() => told.push("one"))
    other.onOtherWrites(() => told.push("other"))
    const before = one.version()
    one.transaction(() => {})
    expect(one.version()).toBe(before)
    other.transaction(() => {})
    expect(one.version()).not.toBe(before)
    stop()
    other.transaction(() => {})
    expect(told).toEqual(["other", "one"])
  })
})

it("an insert that finds its row there already has written nothing, also where numbers are given out for ever", async () => {
  const written = await inBareObject((state) => {
    const driver = new ObjectSqlDriver(state.storage)
    driver.exec("CREATE TABLE numbered (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT UNIQUE)")
    const insert = driver.prepare("INSERT INTO numbered (text) VALUES (?) ON CONFLICT DO NOTHING")
    return [insert.write("a"), insert.write("a"), insert.run("a").changes, insert.write("b")]
  })
  expect(written).toEqual([true, false, 0, true])
})

const slots = (name: string) => (name === "perdure_slot" ? ["CREATE TABLE perdure_slot (id INTEGER PRIMARY KEY, text TEXT)"] : [])

it("a table that is made when it is first written to is there for all drivers of the object, and gone with a transaction that throws", async () => {
  await inBareObject((state) => {
    const [one, other] = [new ObjectSqlDriver(state.storage, slots), new ObjectSqlDriver(state.storage, slots)]
    const read = () => other.prepare("SELECT text FROM perdure_slot").all()
    const insert = () => one.prepare("INSERT INTO perdure_slot (text) VALUES (?)").run("a")
    expect(read()).toEqual([])
    expect(() =>
      one.transaction(() => {
        insert()
        throw new Error("no")
      }),
    ).toThrow("no")
    expect([read(), other.hasTable("perdure_slot")]).toEqual([[], false])
    insert()
    expect([read(), other.hasTable("perdure_slot")]).toEqual([[{ text: "a" }], true])
  })
})

it("knows what somebody else has made before it was needed", async () => {
  await inBareObject((state) => {
    const driver = new ObjectSqlDriver(state.storage, slots)
    expect(driver.hasTable("perdure_slot")).toBe(false)
    state.storage.sql.exec(slots("perdure_slot")[0]!)
    driver.prepare("INSERT INTO perdure_slot (text) VALUES (?)").run("a")
    expect(driver.prepare("SELECT text FROM perdure_slot").all()).toEqual([{ text: "a" }])
  })
})

it("what was known of a database is forgotten when all is deleted", async () => {
  await inBareObject(async (state) => {
    const storage = storageWithReset(state.storage)
    const driver = new ObjectSqlDriver(storage, slots)
    driver.prepare("INSERT INTO perdure_slot (text) VALUES (?)").run("a")
    const count = () => driver.cache.getOrRead("count", "perdure_slot", () => driver.prepare("SELECT text FROM perdure_slot").all().length)
    expect(count()).toBe(1)
    await storage.deleteAll()
    expect([count(), driver.hasTable("perdure_slot")]).toEqual([0, false])
    driver.prepare("INSERT INTO perdure_slot (text) VALUES (?)").run("b")
    expect(count()).toBe(1)
  })
})
