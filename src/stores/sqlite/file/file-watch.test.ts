import { execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { pathToFileURL } from "node:url"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { NodeHost } from "../../../hosts/node/node-host.ts"
import type { PerdureError } from "../../../core/errors.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Engine } from "../../../engine/engine.ts"
import type { EngineOptions } from "../../../engine/settings.ts"
import type { Store } from "../../../ports/store.ts"
import { creation, event, turn } from "../../../testing/store-conformance/sample.ts"
import { StoreBed } from "../../../testing/store-conformance/store-bed.ts"
import { copyDatabase } from "./database-file.ts"
import { fileTables } from "../file-components.ts"
import { migrate } from "../schema/migrate.ts"
import { NodeSqlDriver } from "../driver/node-sql-driver.ts"
import { migrations } from "../schema/schema.ts"
import { sqlite } from "../sqlite-provider.ts"

let folder: string
let path: string
let bed: StoreBed

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-sqlite-"))
  path = join(folder, "app.db")
  bed = new StoreBed(sqlite(path, { durability: "process", pollInterval: 1 }))
})

afterEach(async () => {
  await bed.close()
  rmSync(folder, { recursive: true })
})

const remove = () => {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true })
}

const goneOf = (store: Store) => new Promise<unknown>((resolve) => store.onGone?.(resolve))

const gone = { code: "DATABASE_GONE", details: { path: expect.stringContaining("app.db") as string } }

describe("a database file that is open", () => {
  it("is gone when it is deleted: no write of any connection is acknowledged from then on", async () => {
    const worker = await bed.open()
    const client = await bed.open()
    await worker.journal.commit([creation("i")])
    remove()
    await expect(worker.journal.commit([turn("i", 3)])).rejects.toMatchObject(gone)
    await expect(client.directory.deliver([event("i")])).rejects.toMatchObject(gone)
    for (const store of [worker, client]) {
      await expect(store.directory.get("i")).rejects.toMatchObject(gone)
      await expect(store.journal.claim({ worker: "w", offers: [], limit: 1, leaseMs: 1 })).rejects.toMatchObject(gone)
      await expect(store.journal.commit([creation("j")])).rejects.toThrow(/deleted or renamed while it was open/)
    }
    expect(existsSync(path)).toBe(false)
  })

  it("is gone when it is replaced: the new file stays unchanged, and another process may work on it at once", async () => {
    const worker = await bed.open()
    await worker.journal.commit([creation("i")])
    await copyDatabase(path, join(folder, "copy.db"))
    await worker.journal.commit([turn("i", 3)])
    remove()
    renameSync(join(folder, "copy.db"), path)
    const other = await bed.open()
    expect(other.role).toBe("client")
    await expect(worker.journal.commit([turn("i", 4)])).rejects.toThrow(/replaced by another file/)
    expect(await other.standBy()).toBe("worker")
    await worker.close()
    expect((await other.journal.readJournal("i", 1)).map((row) => row.position)).toEqual([1])
    expect(await other.journal.commit([turn("i", 3)])).toEqual(["committed"])
    expect(existsSync(`${path}-wal`)).toBe(true)
  })

  it("is gone when only its log is deleted, because commits go to the log first", async () => {
    const worker = await bed.open()
    rmSync(`${path}-wal`)
    await expect(worker.journal.commit([creation("i")])).rejects.toThrow(/app\.db-wal" was deleted/)
  })

  it("is gone when its folder is removed, or when another file gets its name by cp or mv", async () => {
    const ways = [
      ["rm", "-rf", "data"],
      ["mv", "other.db", "data/app.db"],
      ["cp", "--remove-destination", "other.db", "data/app.db"],
    ] as const
    for (const [command, ...args] of ways) {
      mkdirSync(join(folder, "data"), { recursive: true })
      const store = await sqlite(join(folder, "data", "app.db")).open(bed.context)
      const other = await sqlite(join(folder, "other.db")).open(bed.context)
      await other.close()
      await store.journal.commit([creation(command)])
      execFileSync(command, args, { cwd: folder })
      await expect(store.journal.commit([turn(command, 3)])).rejects.toMatchObject(gone)
      await store.close()
    }
  })

  it("is noticed to be gone even if no connection writes", async () => {
    const client = await bed.provider.open({ ...bed.context, role: "client" })
    const stop = client.onHint(() => undefined)
    const told = goneOf(client)
    renameSync(path, `${path}.old`)
    expect(await told).toMatchObject(gone)
    stop()
    await client.close()
  })

  it("may be copied, and its process may change its working directory", async () => {
    const before = process.cwd()
    process.chdir(folder)
    const store = await sqlite("app.db").open(bed.context)
    process.chdir(before)
    await store.journal.commit([creation("i")])
    await copyDatabase(path, join(folder, "copy.db"))
    copyFileSync(join(folder, "copy.db"), join(folder, "another.db"))
    expect(await store.journal.commit([turn("i", 3)])).toEqual(["committed"])
    await store.close()
  })
})

/** Runs a program on the file in another process: if code of this process closed the file, the locks of SQLite on it would be dropped. */
const shell = (command: string) => execFileSync("sh", ["-c", command], { cwd: folder })

describe("a database file that another program writes into", () => {
  let driver: NodeSqlDriver
  let told: PerdureError[]

  beforeEach(() => {
    driver = driverOf(path)
    told = []
    driver.watchFile((error) => void told.push(error))
  })

  afterEach(() => driver.close())

  const driverOf = (file: string) => {
    const made = new NodeSqlDriver(file, "PRAGMA journal_mode = WAL")
    migrate(made, migrations)
    return made
  }

  /** Creates instances, and writes all of them from the log into the file. */
  const grow = (count: number, into = driver) => {
    const tables = fileTables(into, () => 0)
    into.transaction(() => {
      tables.turns.begin()
      for (let at = 0; at < count; at++) tables.turns.write(creation(`${randomUUID()}`, { tags: ["x".repeat(1_000)] }))
    })
    into.exec("PRAGMA wal_checkpoint(PASSIVE)")
  }

  const expectGone = (look: () => unknown, happened: RegExp) => {
    expect(look).toThrow(happened)
    expect(told).toEqual([expect.objectContaining(gone)])
    expect(told[0]?.message).toMatch(/End the process, move ".*-wal" and ".*-shm" away, put the right file in its place/)
    expect(() => driver.transaction(() => undefined)).toThrow(expect.objectContaining(gone))
  }

  it("is gone with the next commit after it was truncated, whatever is left of it", () => {
    grow(20)
    shell("truncate -s 0 app.db")
    expectGone(() => driver.transaction(() => undefined), /app\.db" was cut off by another program/)
  })

  it("is gone when it was truncated in the middle", () => {
    grow(100)
    driver.version()
    shell("truncate -s 8192 app.db")
    expectGone(() => driver.version(), /cut off by another program/)
  })

  it("is gone with the next inspection after it was overwritten with other data", () => {
    grow(20)
    driver.inspectFile()
    shell("yes nonsense | head -c 1000000 | dd of=app.db conv=notrunc 2>&1")
    expectGone(() => driver.inspectFile(), /app\.db" was overwritten by another program/)
  })

  it("is gone when it was overwritten with an older copy of itself", () => {
    grow(20)
    shell("cp app.db backup.db")
    grow(20)
    driver.inspectFile()
    // Its length is as before, so only its content can tell.
    shell("cat backup.db | dd of=app.db conv=notrunc 2>&1")
    expectGone(() => driver.inspectFile(), /overwritten/)
  })

  it("is gone when it was overwritten with another database that has more instances", () => {
    const other = driverOf(join(folder, "other.db"))
    grow(500, other)
    other.close()
    grow(20)
    driver.inspectFile()
    shell("dd if=other.db of=app.db conv=notrunc 2>&1")
    expectGone(() => driver.inspectFile(), /overwritten/)
  })

  it("is gone with the second inspection after it was overwritten with a database that has no table of ours", () => {
    const other = new NodeSqlDriver(join(folder, "other.db"), "CREATE TABLE mine (id INTEGER)")
    other.close()
    grow(20)
    driver.inspectFile()
    shell("dd if=other.db of=app.db conv=notrunc 2>&1")
    driver.inspectFile()
    expectGone(() => driver.inspectFile(), /overwritten/)
  })

  it("is not gone when SQLite itself has written: checkpoints, other connections, VACUUM", () => {
    driver.inspectFile()
    grow(200)
    driver.inspectFile()
    const other = new DatabaseSync(path)
    other.exec("DELETE FROM perdure_journal; DELETE FROM perdure_tag; DELETE FROM perdure_instance; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
    driver.inspectFile()
    expect(driver.version()).toBeDefined()
    grow(5)
    other.exec("PRAGMA wal_checkpoint(RESTART)")
    other.close()
    driver.inspectFile()
    for (let round = 0; round < 20; round++) {
      grow(3)
      driver.inspectFile()
    }
    expect(told).toEqual([])
  })

  it("keeps its locks while it is inspected: the log stays when another process closes the file", () => {
    grow(20)
    for (let round = 0; round < 3; round++) {
      grow(1)
      driver.inspectFile()
    }
    const script = `new (require("node:sqlite").DatabaseSync)("app.db").exec("CREATE TABLE mine (id INTEGER)")`
    execFileSync(process.execPath, ["--disable-warning=ExperimentalWarning", "-e", script], { cwd: folder })
    expect(existsSync(`${path}-wal`)).toBe(true)
    driver.transaction(() => undefined)
    expect(told).toEqual([])
  })
})

describe("an engine whose file is deleted", () => {
  const opened = (options: EngineOptions, complaints: string[]) => {
    const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: (message: string) => void complaints.push(message) }
    const steps: string[] = []
    const order = workflow("order", async (ctx) => {
      await ctx.do("before", () => void steps.push("before"))
      await ctx.waitForEvent("go")
      await ctx.do("after", () => void steps.push("after"))
    })
    return { order, steps, open: () => Engine.open({ host: new NodeHost(log), store: sqlite(path, { pollInterval: 1 }), workflows: [order], options }) }
  }

  it("stops, tells every waiting caller, refuses every call, and can be closed", async () => {
    const complaints: string[] = []
    let told: (error: unknown) => void = () => undefined
    const telling = new Promise<unknown>((resolve) => (told = resolve))
    const { order, steps, open } = opened({ onStoreGone: (error) => told(error) }, complaints)
    const engine = await open()
    const handle = await engine.start(order, { id: "i" })
    const result = handle.result().catch((error: unknown) => error)
    const changes = handle.changes("latest")[Symbol.asyncIterator]()
    const change = changes.next().catch((error: unknown) => error)
    remove()
    await expect(handle.sendEvent("go")).rejects.toMatchObject(gone)
    expect(await telling).toMatchObject(gone)
    expect(await result).toMatchObject(gone)
    expect(await change).toMatchObject(gone)
    await expect(engine.start(order, { id: "j" })).rejects.toMatchObject(gone)
    await expect(engine.list()).rejects.toMatchObject(gone)
    await expect(handle.describe()).rejects.toMatchObject(gone)
    await expect(handle.changes()[Symbol.asyncIterator]().next()).rejects.toMatchObject(gone)
    expect(engine.role).toBe("client")
    expect(steps).not.toContain("after")
    expect(complaints.filter((message) => /start the process again/.test(message))).toHaveLength(1)
    await engine.close()
    await expect(engine.list()).rejects.toMatchObject(gone)
  })

  it("rejects a start whose turn went into the deleted file, and runs none of its steps", async () => {
    const { order, steps, open } = opened({}, [])
    const engine = await open()
    remove()
    await expect(engine.start(order)).rejects.toMatchObject(gone)
    expect(steps).toEqual([])
    await engine.close()
  })

  it("stops between ticks as well", async () => {
    const { order, steps, open } = opened({ execute: "ticks" }, [])
    const engine = await open()
    await engine.start(order)
    remove()
    await expect(engine.tick()).rejects.toMatchObject(gone)
    expect(steps).toEqual([])
    await engine.close()
  })
})

describe("the place of a database file", () => {
  it("may be a file: URL, or the text of one", async () => {
    for (const place of [pathToFileURL(path), pathToFileURL(path).href]) {
      const store = await sqlite(place).open(bed.context)
      await store.close()
      expect(existsSync(path)).toBe(true)
      rmSync(path)
    }
    const spaced = join(folder, "my app.db")
    await (await sqlite(pathToFileURL(spaced)).open(bed.context)).close()
    expect(existsSync(spaced)).toBe(true)
  })

  it("is refused if it is no file", () => {
    for (const place of ["file:app.db", "file://host/app.db", "file:///app.db?mode=ro", new URL("https://example.com/app.db")])
      expect(() => sqlite(place)).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
  })
})
