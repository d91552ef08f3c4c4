import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { WalPreallocation } from "./wal-preallocation.ts"
import { NodeSqlDriver } from "./node-sql-driver.ts"

let folder: string
let path: string
let driver: NodeSqlDriver

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-log-room-"))
  path = join(folder, "test.db")
  driver = new NodeSqlDriver(path, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
  driver.exec("CREATE TABLE note (n INTEGER)")
})
afterEach(() => {
  driver.close()
  rmSync(folder, { recursive: true })
})

const fullLength = 4_096_000
const logLength = () => statSync(`${path}-wal`).size
const write = (count: number) => {
  const insert = driver.prepare("INSERT INTO note VALUES (1)")
  for (let i = 0; i < count; i++) driver.transaction(() => insert.run())
}
const notes = () => driver.prepare("SELECT count(*) AS n FROM note").get()?.["n"]

describe("preallocation of the log", () => {
  it("happens when a process has committed often enough, and is enough until SQLite starts the log again from the beginning", () => {
    write(31)
    expect(logLength()).toBeLessThan(fullLength)
    write(1)
    const length = logLength()
    expect(length).toBeGreaterThan(fullLength)
    write(968)
    expect(logLength()).toBe(length)
    expect(notes()).toBe(1_000)
  })

  it("does not happen while transactions are large, because the log grows quickly then; it happens if they become small in time", () => {
    driver.exec("CREATE TABLE large (bytes BLOB)")
    const insert = driver.prepare("INSERT INTO large VALUES (zeroblob(60000))")
    for (let i = 0; i < 32; i++) driver.transaction(() => insert.run())
    const length = logLength()
    expect(length).toBeGreaterThan(fullLength / 4)
    expect(length).toBeLessThan(fullLength)
    write(31)
    expect(logLength()).toBeLessThan(fullLength)
    write(1)
    expect(logLength()).toBeGreaterThan(fullLength)
  })

  it("leaves nothing in the database, also for a connection that opens it while the log exists", () => {
    write(32)
    const other = new DatabaseSync(path)
    expect(other.prepare("SELECT name FROM sqlite_master").all()).toEqual([{ name: "note" }])
    expect(other.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }])
    expect(other.prepare("SELECT count(*) AS n FROM note").get()).toEqual({ n: 32 })
    other.close()
  })

  it("does not matter to the process that recovers the log of a dead process", () => {
    write(40)
    const copy = join(folder, "copy.db")
    // The index of the log (-shm) is missing, as after a power failure.
    for (const suffix of ["", "-wal"]) copyFileSync(`${path}${suffix}`, `${copy}${suffix}`)
    const recovered = new DatabaseSync(copy)
    expect(recovered.prepare("SELECT count(*) AS n FROM note").get()).toEqual({ n: 40 })
    expect(recovered.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }])
    recovered.close()
  })

  it("never fails a committed transaction, even if the database cannot be opened a second time", () => {
    const unopenable = join(folder, "folder.db")
    mkdirSync(unopenable)
    const room = new WalPreallocation(unopenable)
    writeFileSync(`${unopenable}-wal`, "short")
    expect(() => {
      for (let i = 0; i < 40; i++) room.committed()
    }).not.toThrow()
  })

  it("does not happen if another connection writes at that moment", () => {
    write(1)
    const other = new DatabaseSync(path)
    other.exec("BEGIN IMMEDIATE; INSERT INTO note VALUES (2)")
    const room = new WalPreallocation(path)
    for (let i = 0; i < 40; i++) room.committed()
    expect(logLength()).toBeLessThan(fullLength)
    other.exec("COMMIT")
    other.close()
    expect(notes()).toBe(2)
  })
})
