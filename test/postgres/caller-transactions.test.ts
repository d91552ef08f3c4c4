// Starts and messages in transactions of callers: they take effect when the caller commits, and never existed if the caller rolls back.

import { type AnyWorkflow, type Context, eventSchema, type PayloadCodec, Perdure, type PerdureOptions, type TransactionClient, workflow } from "perdure"
import { connect } from "perdure/client"
import { postgres } from "perdure/postgres"
import { sqlite } from "perdure/sqlite"
import pg, { type PoolClient } from "pg"
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import { Gate } from "../../src/testing/scenarios/gate.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"

const database = new TestDatabase(20)
const engines: Awaited<ReturnType<typeof Perdure.open>>[] = []
let schema: string

beforeEach(() => {
  schema = database.newSchema()
})
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})
afterAll(() => database.drop())

async function open(workflows: readonly AnyWorkflow[], options: PerdureOptions = {}) {
  // Sweeps are off: workers look only when they are notified.
  const engine = await Perdure.open({ store: postgres({ ...database.options, schema }), workflows, log: silentLogger, sweep: "1h", ...options })
  engines.push(engine)
  return engine
}

/** Calls `fn` in a transaction of the test, and ends the transaction as `end` says. */
async function transaction<T>(end: "COMMIT" | "ROLLBACK", fn: (client: PoolClient) => Promise<T>, begin = "BEGIN"): Promise<T> {
  const client = await database.callers.connect()
  try {
    await client.query(begin)
    const result = await fn(client)
    await client.query(end)
    return result
  } finally {
    client.release()
  }
}

const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "no error",
    (error: { code?: string }) => error.code,
  )

const double = workflow("double", async (ctx, input: number) => ctx.do("double", () => input * 2))
const echo = workflow("echo", async (ctx: Context<{ word: string }>) => ctx.waitForEvent("word"))
const single = workflow("single", { singleton: true }, async (ctx: Context) => ctx.waitForEvent("end"))
const latest = workflow("latest", { debounce: { quiet: 2_000 }, concurrency: { limit: 1 } }, async (_, input: number) => input)

describe("a start in the caller's transaction", () => {
  it("is executed when the caller commits, by a worker that is told at once, and not before", async () => {
    await open([double])
    const client = await open([double], { role: "client" })
    const handle = await transaction("COMMIT", async (transaction) => {
      const started = await client.start(double, { id: "i", input: 21, transaction })
      expect(await codeOf(started.status())).toBe("NOT_FOUND")
      return started
    })
    expect(await handle.result({ timeout: "10s" })).toBe(42)
  })

  it("is executed by the engine that started it, too", async () => {
    const worker = await open([double])
    const handle = await transaction("COMMIT", (transaction) => worker.start(double, { input: 4, transaction }))
    expect(await handle.result({ timeout: "10s" })).toBe(8)
  })

  it("never was if the caller rolls back, and its id is free", async () => {
    const worker = await open([double])
    await transaction("ROLLBACK", async (transaction) => {
      await worker.start(double, { id: "i", input: 1, transaction })
      await worker.startBatch([{ workflow: double, id: "j", input: 1 }], { transaction })
    })
    expect((await worker.list()).instances).toEqual([])
    expect(await (await worker.start(double, { id: "i", input: 3 })).result({ timeout: "10s" })).toBe(6)
  })

  it("answers as any start does, and what is refused leaves the transaction whole", async () => {
    const worker = await open([double, single])
    await worker.start(double, { id: "old", input: 1 })
    const holder = await worker.start(single)
    const answers = await transaction("COMMIT", async (transaction) => {
      const start = (id: string, input: number, more = {}) => worker.start(double, { id, input, transaction, ...more })
      return [
        await codeOf(start("old", 1)),
        (await start("old", 1, { ifExists: "return" })).id,
        await codeOf(start("old", 2, { ifExists: "return" })),
        await codeOf(worker.start(single, { transaction })),
        (await worker.start(single, { transaction, ifExists: "return" })).id,
        (await start("new", 5)).id,
        await codeOf(start("new", 5)),
        (await start("new", 5, { ifExists: "return" })).id,
        await codeOf(worker.start(double, { id: "", input: 1, transaction })),
        await codeOf(worker.start("unknown", { transaction })),
      ]
    })
    expect(answers).toEqual(["ID_EXISTS", "old", "ID_CONFLICT", "SINGLETON_EXISTS", holder.id, "new", "ID_EXISTS", "new", "BAD_ID", "UNKNOWN_WORKFLOW"])
    expect(await worker.get("new").result({ timeout: "10s" })).toBe(10)
  })

  it("two callers at once: the second of an id, or of a singleton, waits for the first and is told what became of it", async () => {
    const worker = await open([double, single])
    for (const [end, answer] of [
      ["ROLLBACK", "no error"],
      ["COMMIT", "ID_EXISTS"],
    ] as const) {
      const id = `of-${end}`
      let second: Promise<unknown> | undefined
      await transaction(end, async (first) => {
        await worker.start(double, { id, input: 1, transaction: first })
        second = transaction("COMMIT", (client) => codeOf(worker.start(double, { id, input: 1, transaction: client })))
        await new Promise((resolve) => setTimeout(resolve, 50))
      })
      expect(await second).toBe(answer)
    }
    let other: Promise<unknown> | undefined
    await transaction("COMMIT", async (first) => {
      await worker.start(single, { transaction: first })
      other = codeOf(worker.start(single))
      await new Promise((resolve) => setTimeout(resolve, 50))
    })
    expect(await other).toBe("SINGLETON_EXISTS")
  })

  it("debounces: the last input counts, of what was committed", async () => {
    const worker = await open([latest])
    const first = await transaction("COMMIT", (transaction) => worker.start(latest, { input: 1, transaction }))
    await transaction("ROLLBACK", (transaction) => worker.start(latest, { input: 2, transaction }))
    const third = await transaction("COMMIT", (transaction) => worker.start(latest, { input: 3, transaction }))
    expect(third.id).toBe(first.id)
    expect(await codeOf(transaction("ROLLBACK", (transaction) => worker.start(latest, { input: 4, transaction }), "BEGIN ISOLATION LEVEL SERIALIZABLE"))).toBe(
      "BAD_TRANSACTION",
    )
    expect(await first.result({ timeout: "10s" })).toBe(3)
  })

  it("keeps to limits: who is over them waits in line", async () => {
    const gate = new Gate()
    let running = 0
    const limited = workflow("limited", { concurrency: { limit: 2 } }, async (ctx) =>
      ctx.do("work", async () => {
        running++
        await gate.passed
      }),
    )
    const worker = await open([limited])
    const ids = Array.from({ length: 6 }, (_, n) => `i${n}`)
    await transaction("COMMIT", (transaction) =>
      worker.startBatch(
        ids.map((id) => ({ workflow: limited, id })),
        { transaction },
      ),
    )
    await expect.poll(() => running, { timeout: 10_000 }).toBe(2)
    await expect.poll(async () => (await worker.count({}, "status"))["queued"], { timeout: 10_000 }).toBe(4)
    expect(running).toBe(2)
    gate.open()
    await Promise.all(ids.map((id) => worker.get(id).result({ timeout: "20s" })))
  })

  it("a batch answers for each item, and one that is refused hinders no other", async () => {
    const worker = await open([double, single])
    await worker.start(double, { id: "old", input: 1 })
    const results = await transaction("COMMIT", (transaction) =>
      worker.startBatch(
        [
          { workflow: double, id: "a", input: 1 },
          { workflow: double, id: "old", input: 1 },
          { workflow: single, id: "s" },
          { workflow: double, id: "a", input: 1 },
          { workflow: "unknown", id: "u" },
          { workflow: single, id: "t" },
          { workflow: double, id: "old", input: 1, ifExists: "return" },
          { workflow: double, input: 2 },
        ],
        { transaction },
      ),
    )
    expect(results.map((result) => (result.created ? "created" : result.error.code))).toEqual([
      "created",
      "ID_EXISTS",
      "created",
      "ID_EXISTS",
      "UNKNOWN_WORKFLOW",
      "SINGLETON_EXISTS",
      "created",
      "created",
    ])
    expect(await worker.get("a").result({ timeout: "10s" })).toBe(2)
    expect(await worker.get(results[7]!.id).result({ timeout: "10s" })).toBe(4)
  })

  it("calls that come at once on one client do not get into each other's way", async () => {
    const worker = await open([double])
    const codes = await transaction("COMMIT", (transaction) =>
      Promise.all(["a", "b", "a", "c", ""].map((id) => codeOf(worker.start(double, { id, input: 1, transaction })))),
    )
    expect(codes).toEqual(["no error", "no error", "ID_EXISTS", "no error", "BAD_ID"])
    expect((await worker.list({ limit: 10 })).instances.map(({ id }) => id).sort()).toEqual(["a", "b", "c"])
  })

  it("works with a codec, with a delay, and in another isolation level", async () => {
    const codec: PayloadCodec = { id: "reversed", encode: (bytes) => bytes.toReversed(), decode: (bytes) => bytes.toReversed() }
    const worker = await open([double], { codec })
    const handle = await transaction(
      "COMMIT",
      async (transaction) => {
        await worker.start(double, { id: "i", input: 6, delay: 100, transaction })
        return worker.start(double, { id: "i", input: 6, transaction, ifExists: "return" })
      },
      "BEGIN ISOLATION LEVEL SERIALIZABLE",
    )
    expect(await handle.result({ timeout: "10s" })).toBe(12)
  })
})

describe("an event in the caller's transaction", () => {
  it("is delivered when the caller commits, and to an instance of the same transaction", async () => {
    const worker = await open([echo])
    const waiting = await worker.start(echo, { id: "waiting" })
    const fresh = await transaction("COMMIT", async (transaction) => {
      await waiting.sendEvent("word", "hello", { transaction })
      const started = await worker.start(echo, { id: "fresh", transaction })
      await started.sendEvent("word", "first", { transaction, eventId: "e" })
      await started.sendEvent("word", "again", { transaction, eventId: "e" })
      return started
    })
    expect(await waiting.result({ timeout: "10s" })).toBe("hello")
    expect(await fresh.result({ timeout: "10s" })).toBe("first")
  })

  it("never was if the caller rolls back", async () => {
    const worker = await open([echo])
    const handle = await worker.start(echo, { id: "i" })
    await transaction("ROLLBACK", (transaction) => handle.sendEvent("word", "no", { transaction }))
    await handle.sendEvent("word", "yes")
    expect(await handle.result({ timeout: "10s" })).toBe("yes")
  })

  it("is refused by an instance that is over or unknown; the transaction goes on", async () => {
    const worker = await open([double, echo])
    const over = await worker.start(double, { id: "over", input: 1 })
    await over.result()
    const answers = await transaction("COMMIT", async (transaction) => [
      await codeOf(worker.get("over").sendEvent("word", "x", { transaction })),
      await codeOf(worker.get("nobody").sendEvent("word", "x", { transaction })),
      (await worker.sendOrStart(echo, { id: "new", event: "word", payload: "started", transaction })).id,
      await codeOf(worker.sendOrStart(double as never, { id: "over", event: "word", payload: "x", input: 1, transaction } as never)),
    ])
    expect(answers).toEqual(["INSTANCE_ENDED", "NOT_FOUND", "new", "INSTANCE_ENDED"])
    expect(await worker.get("new").result({ timeout: "10s" })).toBe("started")
  })
})

describe("an event that is not declared, in the caller's transaction", () => {
  it("is refused, and nothing is started for it; the transaction goes on", async () => {
    const declaring = workflow("declaring", { events: { word: eventSchema<string>() } }, async (ctx) => ctx.waitForEvent("word"))
    const worker = await open([declaring])
    const answers = await transaction("COMMIT", async (transaction) => {
      const { id } = await worker.start(declaring, { id: "i", transaction })
      return [
        await codeOf(worker.get(id).sendEvent("wrod", "x", { transaction })),
        await codeOf(worker.sendOrStart("declaring", { id: "other", event: "wrod", payload: "x", transaction, input: undefined })),
        await codeOf(worker.get(id).sendEvent("word", "x", { transaction })),
      ]
    })
    expect(answers).toEqual(["UNKNOWN_EVENT", "UNKNOWN_EVENT", "no error"])
    expect(await worker.get("i").result({ timeout: "10s" })).toBe("x")
    expect((await worker.list()).instances).toHaveLength(1)
  })
})

describe("a transaction of a step", () => {
  it("starts and sends in one with its own record: once, however often it is tried", async () => {
    const parent = workflow("parent", async (ctx) => {
      await ctx.transaction(
        "start",
        async (client: PoolClient, { attempt }) => {
          const started = await worker.start(echo, { id: "other", transaction: client })
          await started.sendEvent("word", `attempt ${attempt}`, { transaction: client })
          if (attempt < 3) throw new Error("not this time")
        },
        { retry: { maxAttempts: 3, initialInterval: 1 } },
      )
    })
    const worker = await open([parent, echo])
    await (await worker.start(parent)).result({ timeout: "10s" })
    expect(await worker.get("other").result({ timeout: "10s" })).toBe("attempt 3")
  })
})

describe("clients of the caller's", () => {
  it("may be adapters of a query builder that give nothing but rows, and whatever they make of types", async () => {
    const worker = await open([double, latest])
    await transaction("COMMIT", async (client) => {
      const types = { getTypeParser: () => (value: unknown) => `odd ${String(value)}` }
      const json = { getTypeParser: (oid: number) => (value: string) => (oid === 114 ? value : types.getTypeParser()(value)) }
      const adapter: TransactionClient = {
        query: async (text, values = []) => {
          const { rows } = await client.query({ text, values: [...values], types: json })
          return { rows: rows as Record<string, unknown>[], rowCount: rows.length }
        },
      }
      await worker.start(double, { id: "i", input: 8, transaction: adapter })
      await worker.start(double, { id: "i", input: 8, transaction: adapter, ifExists: "return" })
      await worker.start(latest, { id: "d", input: 1, transaction: adapter })
      await worker.start(latest, { input: 2, transaction: adapter })
    })
    expect(await worker.get("i").result({ timeout: "10s" })).toBe(16)
    expect(await worker.get("d").result({ timeout: "10s" })).toBe(2)
  })

  it("are refused where no transaction is open, it has ended, failed or may only read", async () => {
    const worker = await open([double])
    const client = await database.callers.connect()
    const start = () => codeOf(worker.start(double, { input: 1, transaction: client }))
    const codes = [await start()]
    await client.query("BEGIN")
    await client.query("COMMIT")
    codes.push(await start())
    await client.query("BEGIN")
    await client.query("SELECT nonsense").catch(() => undefined)
    codes.push(await start())
    await client.query("ROLLBACK")
    await client.query("BEGIN READ ONLY")
    codes.push(await start())
    await client.query("ROLLBACK")
    client.release()
    const closed = new pg.Client({ connectionString: database.url })
    await closed.connect()
    await closed.end()
    codes.push(await codeOf(worker.start(double, { input: 1, transaction: closed })))
    codes.push(await codeOf(worker.start(double, { input: 1, transaction: "client" as never })))
    expect(codes).toEqual(codes.map(() => "BAD_TRANSACTION"))
    expect((await worker.list()).instances).toEqual([])
  })

  it("are refused where they lead to another database", async () => {
    const worker = await open([double])
    const name = `other_${schema}`
    await database.pool.query(`CREATE DATABASE ${name}`)
    const address = new URL(database.url)
    address.pathname = `/${name}`
    const other = new pg.Client({ connectionString: address.href })
    await other.connect()
    // Also if the other database has the same tables.
    await (await Perdure.open({ store: postgres({ connectionString: address.href, schema }), role: "client", log: silentLogger })).close()
    await other.query("BEGIN")
    const started = worker.start(double, { input: 1, transaction: other })
    await expect(started).rejects.toMatchObject({ code: "BAD_TRANSACTION", details: { client: expect.stringContaining(name) as string } })
    await other.query("COMMIT")
    await other.end()
    await database.pool.query(`DROP DATABASE ${name}`)
  })

  it("are of no use to other stores, and over HTTP", async () => {
    const embedded = await Perdure.open({ store: sqlite(":memory:"), workflows: [double, echo], log: silentLogger })
    const handle = await embedded.start(echo)
    const client = await database.callers.connect()
    const remote = connect("http://127.0.0.1:9")
    const codes = [
      await codeOf(embedded.start(double, { input: 1, transaction: client })),
      await codeOf(embedded.startBatch([], { transaction: client })),
      await codeOf(handle.sendEvent("word", "x", { transaction: client })),
      await codeOf(remote.start(double, { input: 1, transaction: client })),
      await codeOf(remote.startBatch([], { transaction: client })),
      await codeOf(remote.get(echo, "i").sendEvent("word", "x", { transaction: client })),
      await codeOf(remote.sendOrStart(echo, { id: "i", event: "word", payload: "x", transaction: client })),
    ]
    client.release()
    await embedded.close()
    expect(codes).toEqual(codes.map(() => "NO_TRANSACTIONS"))
  })
})
