import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { NodeHost } from "../../hosts/node/node-host.ts"
import { workflow } from "../../core/workflow.ts"
import { Engine } from "../../engine/engine.ts"
import type { EngineOptions } from "../../engine/settings.ts"
import type { Store } from "../../ports/store.ts"
import { creation, event, turn } from "../../testing/store-conformance/sample.ts"
import { StoreBed } from "../../testing/store-conformance/store-bed.ts"
import { copyDatabase } from "./database-file.ts"
import { sqlite } from "./sqlite.ts"

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

const replaced = { code: "STORE_REPLACED", details: { path: expect.stringContaining("app.db") as string } }

describe("a database file that is open", () => {
  it("and deleted: no write is acknowledged from then on, whoever writes", async () => {
    const worker = await bed.open()
    const client = await bed.open()
    await worker.journal.commit([creation("i")])
    remove()
    await expect(worker.journal.commit([turn("i", 3)])).rejects.toMatchObject(replaced)
    await expect(client.directory.deliver([event("i")])).rejects.toMatchObject(replaced)
    for (const store of [worker, client]) {
      await expect(store.directory.get("i")).rejects.toMatchObject(replaced)
      await expect(store.journal.claim({ worker: "w", offers: [], limit: 1, leaseMs: 1 })).rejects.toMatchObject(replaced)
      await expect(store.journal.commit([creation("j")])).rejects.toThrow(/deleted or renamed while it was open/)
    }
    expect(existsSync(path)).toBe(false)
  })

  it("and replaced: the new file stays as it is, and another process may execute it at once", async () => {
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

  it("whose log alone is deleted counts as deleted: commits go there first", async () => {
    const worker = await bed.open()
    rmSync(`${path}-wal`)
    await expect(worker.journal.commit([creation("i")])).rejects.toThrow(/app\.db-wal" was deleted/)
  })

  it("is noticed to be gone also where nobody writes", async () => {
    const client = await bed.provider.open({ ...bed.context, role: "client" })
    const stop = client.onHint(() => undefined)
    const gone = goneOf(client)
    renameSync(path, `${path}.old`)
    expect(await gone).toMatchObject(replaced)
    stop()
    await client.close()
  })

  it("may be copied, and its process may change its folder", async () => {
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

  it("stops, tells everybody who waits, refuses every call, and can be closed", async () => {
    const complaints: string[] = []
    let told: (error: unknown) => void = () => undefined
    const gone = new Promise<unknown>((resolve) => (told = resolve))
    const { order, steps, open } = opened({ onStoreGone: (error) => told(error) }, complaints)
    const engine = await open()
    const handle = await engine.start(order, { id: "i" })
    const result = handle.result().catch((error: unknown) => error)
    const changes = handle.changes("latest")[Symbol.asyncIterator]()
    const change = changes.next().catch((error: unknown) => error)
    remove()
    await expect(handle.sendEvent("go")).rejects.toMatchObject(replaced)
    expect(await gone).toMatchObject(replaced)
    expect(await result).toMatchObject(replaced)
    expect(await change).toMatchObject(replaced)
    await expect(engine.start(order, { id: "j" })).rejects.toMatchObject(replaced)
    await expect(engine.list()).rejects.toMatchObject(replaced)
    await expect(handle.describe()).rejects.toMatchObject(replaced)
    await expect(handle.changes()[Symbol.asyncIterator]().next()).rejects.toMatchObject(replaced)
    expect(engine.role).toBe("client")
    expect(steps).not.toContain("after")
    expect(complaints.filter((message) => /start the process again/.test(message))).toHaveLength(1)
    await engine.close()
    await expect(engine.list()).rejects.toMatchObject(replaced)
  })

  it("rejects a start whose turn went into the deleted file, and runs none of its steps", async () => {
    const { order, steps, open } = opened({}, [])
    const engine = await open()
    remove()
    await expect(engine.start(order)).rejects.toMatchObject(replaced)
    expect(steps).toEqual([])
    await engine.close()
  })

  it("stops also between ticks", async () => {
    const { order, steps, open } = opened({ execute: "ticks" }, [])
    const engine = await open()
    await engine.start(order)
    remove()
    await expect(engine.tick()).rejects.toMatchObject(replaced)
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

  it("is refused where it is no file", () => {
    for (const place of ["file:app.db", "file://host/app.db", "file:///app.db?mode=ro", new URL("https://example.com/app.db")])
      expect(() => sqlite(place)).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
  })
})
