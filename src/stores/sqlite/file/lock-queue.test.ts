// Another connection holds the write lock of the file. The connection is in this process, so that a test decides when the lock is free.

import { AsyncLocalStorage } from "node:async_hooks"
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setImmediate as macrotask } from "node:timers/promises"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { Sql } from "../../../core/workflow/transaction-sql.ts"
import type { ScheduleRow } from "../../../ports/schedule-store.ts"
import type { Store } from "../../../ports/store.ts"
import { claimBy, completed, creation, event, slots, turn } from "../../../testing/store-conformance/sample.ts"
import { StoreBed } from "../../../testing/store-conformance/store-bed.ts"
import { migrateFile, newestSchema, schemaOf } from "./database-file.ts"
import { LockQueue } from "./lock-queue.ts"
import { sqlite, type SqliteOptions } from "../sqlite-provider.ts"

let folder: string
let path: string
let other: DatabaseSync
let beds: StoreBed[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-lock-"))
  path = join(folder, "app.db")
  other = new DatabaseSync(path)
  other.exec("PRAGMA journal_mode = WAL")
  beds = []
})

afterEach(async () => {
  if (other.isOpen) other.close()
  for (const bed of beds) await bed.close()
  rmSync(folder, { recursive: true })
})

const bedOf = (options: SqliteOptions = {}): StoreBed => {
  const bed = new StoreBed(sqlite(path, { durability: "process", busyTimeout: "30s", ...options }))
  beds.push(bed)
  return bed
}

const open = (options: SqliteOptions = {}): Promise<Store> => bedOf(options).open()

/** Makes a call while the other connection holds the lock, and frees the lock after some rounds of the event loop. */
const whileLocked = async <T>(call: () => Promise<T>, begin = "BEGIN IMMEDIATE"): Promise<T> => {
  other.exec(begin)
  const settled: string[] = []
  const answer = call()
  void answer.then(
    () => settled.push("answered"),
    () => settled.push("rejected"),
  )
  for (let round = 0; round < 20; round++) await macrotask()
  expect(settled).toEqual([])
  other.exec("COMMIT")
  return answer
}

const schedule: ScheduleRow = {
  id: "s",
  incarnation: "s~1",
  revision: 1,
  workflow: "order",
  createdAt: 1_000_000,
  updatedAt: 1_000_000,
  state: "{}",
}

describe("a write that finds the file locked waits, and the process goes on", () => {
  const calls: readonly [string, (store: Store) => Promise<unknown>, unknown][] = [
    ["a commit", ({ journal }) => journal.commit([turn("i", 3), creation("j")]), ["committed", "committed"]],
    ["a claim", async ({ journal }) => (await journal.claim(claimBy())).map(({ instance }) => instance.id), ["due"]],
    ["the renewal of a lease", ({ journal }) => journal.renew("a", 30_000), undefined],
    ["the release of instances", ({ journal }) => journal.release("a", ["i"]), undefined],
    ["a message", ({ directory }) => directory.deliver([event("i")]), ["delivered"]],
    ["a message that may create its instance", ({ directory }) => directory.deliverOrCreate(event("j"), creation("j")), "created"],
    ["a removal", ({ directory }) => directory.remove(["over"]), ["over"]],
    ["a schedule", ({ schedules }) => schedules.write({ row: { ...schedule, id: "t" } }), "written"],
    ["the removal of a schedule", ({ schedules }) => schedules.remove("s"), true],
    ["the limits of a workflow", ({ flow }) => flow.declare([{ workflow: "order", limits: [slots(3)] }]), undefined],
    ["a limit that is set", ({ flow }) => flow.override("order", []), "changed"],
    ["an instance that is given limits", ({ flow }) => flow.assign("due", "due~1", { priority: 1 }), true],
  ]

  it.each(calls)("%s", async (_name, call, expected) => {
    const store = await open()
    const due = { state: { status: "queued", dueAt: 1 } } as const
    await store.journal.commit([creation("i"), creation("due", due), creation("over", { state: completed })])
    await store.schedules.write({ row: schedule })
    expect(await whileLocked(() => call(store))).toEqual(expected)
  })

  it("opening the file, also for the first time", async () => {
    const store = await whileLocked(() => open())
    expect(store.role).toBe("worker")
    expect((await whileLocked(() => open(), "BEGIN EXCLUSIVE")).role).toBe("client")
  })

  it("opening a file that has no write-ahead log yet", async () => {
    other.close()
    rmSync(path)
    other = new DatabaseSync(path)
    other.exec("CREATE TABLE mine (id INTEGER)")
    const store = await whileLocked(() => open(), "BEGIN EXCLUSIVE; INSERT INTO mine VALUES (1)")
    expect(await store.journal.commit([creation("i")])).toEqual(["committed"])
  })

  it("migrating a file", async () => {
    await whileLocked(() => migrateFile(path))
    expect(schemaOf(path).version).toBe(newestSchema)
  })

  it("a store that stands by, while the worker before it is closed", async () => {
    const first = await open()
    const second = await open()
    await first.close()
    expect(await whileLocked(() => second.standBy())).toBe("worker")
    await second.journal.commit([creation("i")])
  })

  it("reads are answered meanwhile", async () => {
    const { journal, directory } = await open()
    await journal.commit([creation("i")])
    await whileLocked(async () => {
      const written = journal.commit([turn("i", 3)])
      expect((await directory.get("i"))?.id).toBe("i")
      expect(await journal.readJournal("i", 1)).toHaveLength(1)
      return written
    })
  })
})

describe("writes that wait", () => {
  it("run once each and in the order of the calls, also those that come when the lock is free", async () => {
    const { journal, directory } = await open()
    await journal.commit([creation("i")])
    other.exec("BEGIN IMMEDIATE")
    const send = (payload: string) => directory.deliver([event("i", { payload })])
    const sent = Array.from({ length: 50 }, (_, index) => send(String(index)))
    const committed = journal.commit([turn("i", 3)])
    await macrotask()
    other.exec("COMMIT")
    // No timer has fired yet: the lock is free, but earlier calls come first.
    sent.push(send("50"), send("51"))
    const order: number[] = []
    for (const [index, answer] of sent.entries()) void answer.then(() => order.push(index))
    expect((await Promise.all(sent)).flat()).toEqual(Array.from({ length: 52 }, () => "delivered"))
    expect(await committed).toEqual(["committed"])
    expect(order).toEqual(Array.from({ length: 52 }, (_, index) => index))
    expect((await journal.readInbox(["i"])).map(({ payload }) => payload)).toEqual(Array.from({ length: 52 }, (_, index) => String(index)))
    expect((await journal.readJournal("i", 1)).map(({ position }) => position)).toEqual([1, 3])
  })

  it("a transaction calls its function once, with the lock, in the async context of its caller", async () => {
    other.exec("CREATE TABLE note (text TEXT)")
    const { journal, transactions } = await open()
    await journal.commit([creation("i")])
    const context = new AsyncLocalStorage<string>()
    const calls: (string | undefined)[] = []
    const run = (sql: Sql) => {
      calls.push(context.getStore())
      sql.run("INSERT INTO note VALUES ('a')")
      return turn("i", 3)
    }
    const outcomes = await whileLocked(() =>
      Promise.all([
        // The first call sets the timer of the next try.
        context.run("another", () => journal.commit([creation("j")])),
        context.run("mine", () => transactions?.transact(run)),
      ]),
    )
    expect(outcomes).toEqual([["committed"], "committed"])
    expect(calls).toEqual(["mine"])
    expect(other.prepare("SELECT text FROM note").all()).toHaveLength(1)
  })

  it("fail after the waiting time with nothing written, and later writes work", async () => {
    const { journal, directory } = await open({ busyTimeout: 5 })
    await journal.commit([creation("i")])
    other.exec("BEGIN IMMEDIATE")
    const busy = { code: "DATABASE_BUSY", message: expect.stringMatching(/end its long write transaction, or raise busyTimeout/) as string }
    const refused = [journal.commit([turn("i", 3)]), directory.deliver([event("i")])]
    for (const answer of refused) await expect(answer).rejects.toMatchObject(busy)
    await expect(open({ busyTimeout: 5 })).rejects.toMatchObject(busy)
    other.exec("COMMIT")
    expect(await journal.readInbox(["i"])).toEqual([])
    expect(await journal.commit([turn("i", 3)])).toEqual(["committed"])
  })

  it("are refused when the store is closed", async () => {
    const store = await open()
    other.exec("BEGIN IMMEDIATE")
    const answers = [store.journal.commit([creation("i")]), store.directory.deliver([event("i")])]
    const refused = Promise.all(answers.map((answer) => expect(answer).rejects.toMatchObject({ code: "ENGINE_CLOSED" })))
    await store.close()
    await refused
    other.exec("COMMIT")
    expect(await (await open()).directory.get("i")).toBeUndefined()
  })

  it("are refused when the file is deleted meanwhile", async () => {
    const store = await open({ pollInterval: 1 })
    const stop = store.onHint(() => undefined)
    other.exec("BEGIN IMMEDIATE")
    const answer = store.journal.commit([creation("i")])
    for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix)
    await expect(answer).rejects.toMatchObject({ code: "DATABASE_GONE" })
    stop()
  })
})

describe("the queue of a lock", () => {
  /** A lock whose calls are refused while it is held. */
  const lockOf = () => {
    let refusal: Error | undefined
    const lock = { isHeld: false, done: [] as string[] }
    const database = {
      takeRefusal: () => {
        const taken = refusal
        refusal = undefined
        return taken
      },
    }
    const call =
      (name: string, then: () => void = () => undefined) =>
      async () => {
        if (lock.isHeld) throw (refusal = new Error("busy"))
        lock.done.push(name)
        then()
        return name
      }
    return { lock, call, queue: new LockQueue(database, 60_000) }
  }

  it("makes a call at once if the lock is free", () => {
    const { lock, call, queue } = lockOf()
    void queue.write(call("a"))
    expect(lock.done).toEqual(["a"])
  })

  it("does not mistake the refusal of an inner call for that of the outer call, which has written", async () => {
    const { lock, call, queue } = lockOf()
    let inner: Promise<string> | undefined
    const outer = queue.write(
      call("outer", () => {
        lock.isHeld = true
        inner = queue.write(call("inner"))
      }),
    )
    expect(await outer).toBe("outer")
    lock.isHeld = false
    expect(await inner).toBe("inner")
    expect(lock.done).toEqual(["outer", "inner"])
  })

  it("lets other macrotasks run while it empties a long queue", async () => {
    const { lock, call, queue } = lockOf()
    lock.isHeld = true
    const slow = () => {
      const end = performance.now() + 1
      while (performance.now() < end);
    }
    const answers = Array.from({ length: 60 }, (_, index) => queue.write(call(String(index), slow)))
    lock.isHeld = false
    const seen = new Set<number>()
    let isOver = false
    const all = Promise.all(answers).then(() => (isOver = true))
    while (!isOver) {
      seen.add(lock.done.length)
      await macrotask()
    }
    await all
    expect(seen.size).toBeGreaterThan(3)
    expect(lock.done).toEqual(Array.from({ length: 60 }, (_, index) => String(index)))
  })
})

describe("a log that a reader keeps from being checkpointed", () => {
  it("grows, and is checkpointed and truncated once the reader is gone", async () => {
    const { journal } = await open()
    const log = `${path}-wal`
    await journal.commit([creation("i")])
    other.exec("BEGIN")
    other.prepare("SELECT count(*) FROM perdure_journal").get()
    const blobs = ["x".repeat(500_000)]
    let position = 3
    const write = async () => expect(await journal.commit([turn("i", position++, { blobs })])).toEqual(["committed"])
    while (statSync(log).size < 20_000_000) await write()
    // The reader's snapshot is older than these commits, so none of them may be written into the file.
    expect(statSync(path).size).toBeLessThan(1_000_000)
    other.exec("COMMIT")
    for (let count = 0; count < 3; count++) await write()
    expect(statSync(path).size).toBeGreaterThan(18_000_000)
    expect(statSync(log).size).toBeLessThan(17_000_000)
    expect((await journal.readJournal("i", 3)).length).toBe(position - 3)
  })
})
