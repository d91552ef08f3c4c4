import { chmodSync, existsSync, mkdirSync, mkdtempSync, openSync, closeSync, rmSync, writeFileSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { Store } from "../../../ports/store.ts"
import { completed, creation, event, turn } from "../../../testing/store-conformance/sample.ts"
import { StoreBed } from "../../../testing/store-conformance/store-bed.ts"
import { sqlite, type SqliteOptions } from "../sqlite-provider.ts"
import { unprivileged } from "../../../../test/unprivileged.ts"

let folder: string
let path: string
let beds: StoreBed[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-sqlite-"))
  path = join(folder, "app.db")
  beds = []
})

afterEach(async () => {
  for (const bed of beds) await bed.close()
  chmodSync(folder, 0o700)
  rmSync(folder, { recursive: true })
})

const open = async (options: SqliteOptions = {}, file = path): Promise<Store> => {
  const bed = new StoreBed(sqlite(file, { durability: "process", ...options }))
  beds.push(bed)
  return bed.open()
}

const close = async () => {
  for (const bed of beds.splice(0)) await bed.close()
}

describe("a file that cannot be used", () => {
  it("is refused and left unchanged if it is no database", async () => {
    writeFileSync(path, "Dear diary, ".repeat(1000))
    await expect(open()).rejects.toMatchObject({ code: "DATABASE_CORRUPT", details: { path } })
    expect(existsSync(`${path}-worker`)).toBe(false)
  })

  it("is reported as damaged if it is damaged", async () => {
    const store = await open()
    await store.journal.commit(Array.from({ length: 500 }, (_, i) => creation(`i${i}`, { state: completed })))
    await close()
    const file = openSync(path, "r+")
    for (let page = 1; page < 60; page++) writeSync(file, Buffer.alloc(2000, 0xee), 0, 2000, page * 4096)
    closeSync(file)
    const spoilt = async () => {
      const again = await open()
      await again.directory.list({}, { limit: 500, order: "oldest" })
    }
    await expect(spoilt()).rejects.toMatchObject({ code: "DATABASE_CORRUPT" })
  })

  it("fails with an error that names the folder if the folder does not exist", async () => {
    await expect(open({}, join(folder, "missing", "app.db"))).rejects.toMatchObject({ code: "DATABASE_UNREADABLE" })
    mkdirSync(join(folder, "dir.db"))
    await expect(open({}, join(folder, "dir.db"))).rejects.toMatchObject({ code: "DATABASE_UNREADABLE" })
  })

  it("is refused when it is opened if the process may only read it", async () => {
    await open()
    await close()
    chmodSync(path, 0o444)
    chmodSync(folder, 0o777)
    await unprivileged(() => expect(open()).rejects.toMatchObject({ code: "READ_ONLY" }))
  })

  it("is refused if the process may only read its folder, whether the file exists or not", async () => {
    chmodSync(folder, 0o555)
    await unprivileged(() => expect(open()).rejects.toMatchObject({ code: "READ_ONLY" }))
    chmodSync(folder, 0o777)
    await open()
    await close()
    chmodSync(path, 0o666)
    chmodSync(folder, 0o555)
    await unprivileged(() => expect(open()).rejects.toMatchObject({ code: "READ_ONLY" }))
  })
})

describe("a full disk", () => {
  it("fails the whole commit, and commits work again once there is room", async () => {
    const { journal, directory } = await open({ maxPageCount: 120 })
    const ballast = { blobs: ["x".repeat(150_000)] }
    await journal.commit([creation("old"), turn("old", 3, { ...ballast, state: completed }), creation("i")])
    const batch = [turn("i", 3, { state: completed }), creation("j"), turn("j", 3, { blobs: ["y".repeat(400_000)] })]
    await expect(journal.commit(batch)).rejects.toMatchObject({ code: "DISK_FULL" })
    expect((await directory.get("i"))?.status).toBe("waiting")
    expect(await journal.readJournal("i", 1)).toHaveLength(1)
    expect(await directory.get("j")).toBeUndefined()

    await expect(directory.deliver([event("i"), event("i", { payload: "z".repeat(400_000) })])).rejects.toMatchObject({ code: "DISK_FULL" })
    expect(await journal.readInbox(["i"])).toEqual([])
    await expect(directory.deliverOrCreate(event("k", { payload: "z".repeat(400_000) }), creation("k"))).rejects.toMatchObject({ code: "DISK_FULL" })
    expect(await directory.get("k")).toBeUndefined()

    expect(await journal.commit([turn("i", 3)])).toEqual(["committed"])
    expect(await journal.commit([creation("k")])).toEqual(["committed"])
    expect(await directory.remove(["old"])).toEqual(["old"])
    expect(await journal.commit([creation("j"), turn("j", 3, ballast)])).toEqual(["committed", "committed"])
    expect(await journal.commit([turn("k", 3)])).toEqual(["committed"])
    expect((await journal.readJournal("k", 3)).map((row) => row.position)).toEqual([3])
  })

  it("is reported with what to do about it", async () => {
    await expect(open({ maxPageCount: 2 })).rejects.toThrow(/free some disk space/)
  })
})

describe("a file that another process keeps locked", () => {
  it("fails as busy after the waiting time, and works again afterwards", async () => {
    const { journal, directory } = await open({ busyTimeout: 0 })
    await journal.commit([creation("i")])
    const other = new DatabaseSync(path)
    other.exec("BEGIN IMMEDIATE")
    await expect(journal.commit([turn("i", 3)])).rejects.toMatchObject({ code: "DATABASE_BUSY" })
    expect((await directory.get("i"))?.id).toBe("i")
    other.close()
    expect(await journal.commit([turn("i", 3)])).toEqual(["committed"])
  })
})

describe("options", () => {
  it("that make no sense are refused", () => {
    const bad = [
      () => sqlite(""),
      () => sqlite(undefined as unknown as string),
      () => sqlite("x", { durability: "none" as "disk" }),
      () => sqlite("x", { maxPageCount: 1.5 }),
    ]
    for (const make of bad) expect(make).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
    expect(() => sqlite("x", { pollInterval: -1 })).toThrow(/pollInterval/)
    expect(() => sqlite("x", { busyTimeout: "soon" as "1s" })).toThrow(/busyTimeout/)
  })
})
