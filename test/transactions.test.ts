// Transactions of a step in the file of the store, in virtual time. `describe-transactions.ts` has the cases that hold on PostgreSQL too.

import { mkdtempSync, rmSync } from "node:fs"
import { AsyncLocalStorage } from "node:async_hooks"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { type Context, Perdure, type PerdureError, type Sql, type StepInterceptor, workflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { createTestEngine, expectReplay, type TestEngine, type TestEngineOptions } from "../src/testing/test-engine.ts"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { describeTransactions } from "./describe-transactions.ts"

let folder: string
let path: string
let outside: DatabaseSync
let engines: TestEngine[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-transactions-"))
  path = join(folder, "app.db")
  engines = []
  outside = new DatabaseSync(path)
  outside.exec("PRAGMA journal_mode = WAL; CREATE TABLE account (id TEXT PRIMARY KEY, balance INTEGER NOT NULL) STRICT")
  outside.exec("INSERT INTO account VALUES ('ada', 100), ('bob', 0)")
})

afterEach(async () => {
  for (const engine of engines) await engine.close()
  outside.close()
  rmSync(folder, { recursive: true })
})

const open = async (options: Omit<TestEngineOptions, "store">): Promise<TestEngine> => {
  const engine = await createTestEngine({ ...options, store: sqlite(path, { durability: "process" }) })
  engines.push(engine)
  return engine
}

const balances = () =>
  outside
    .prepare("SELECT balance FROM account ORDER BY id")
    .all()
    .map((row) => Number(row["balance"]))

const move = (sql: Sql, amount: number): number => {
  sql.run("UPDATE account SET balance = balance - ? WHERE id = 'ada'", amount)
  sql.run("UPDATE account SET balance = balance + ? WHERE id = 'bob'", amount)
  return sql.get<{ balance: number }>("SELECT balance FROM account WHERE id = 'bob'")!.balance
}

const entriesOf = async (engine: TestEngine, id: string) => (await engine.get(id).history({ limit: 1_000 })).entries.map(({ type }) => type)

describeTransactions("SQLite", {
  open: (workflows, options) => open({ workflows, ...options }),
  move: (ctx, name, amount, finish, options) => ctx.transaction(name, (sql: Sql, step) => finish(move(sql, amount), step) as never, options),
  balances,
  passRetries: async () => engines.at(-1)?.skip("10s"),
})

describe("a transaction", () => {
  it("that throws waits for its next attempt with nothing written", async () => {
    const pay = workflow("pay", async (ctx) =>
      ctx.transaction("move", (sql, { attempt }) => {
        const balance = move(sql, 10)
        if (attempt < 3) throw new Error(`no luck ${attempt}`)
        return balance
      }),
    )
    const engine = await open({ workflows: [pay] })
    const handle = await engine.start(pay, { id: "i" })
    await engine.settle()
    expect(balances()).toEqual([100, 0])
    expect((await handle.steps())[0]).toMatchObject({ status: "retrying", attempts: 1, error: { message: "no luck 1" } })
    await engine.skip("10s")
    expect(await handle.result()).toBe(10)
    expect(balances()).toEqual([90, 10])
  })

  it("is replayed from its record", async () => {
    const pay = workflow("pay", async (ctx, amount: number) => {
      const balance = await ctx.transaction("move", (sql) => move(sql, amount))
      return ctx.do("tell", () => `bob has ${balance}`)
    })
    const engine = await open({ workflows: [pay] })
    await (await engine.start(pay, { id: "i", input: 30 })).result()
    expect(await expectReplay(await engine.journal("i"), pay)).toMatchObject({ outcome: { ok: true, value: "bob has 30" } })
  })

  it("is not run again after a crash or when its instance is loaded again", async () => {
    const pay = workflow("pay", async (ctx: Context) => {
      const balance = await ctx.transaction("move", (sql) => move(sql, 10))
      await ctx.waitForEvent("go")
      return balance
    })
    const engine = await open({ workflows: [pay] })
    const handle = await engine.start(pay, { id: "i" })
    await engine.settle()
    await engine.crash()
    await engine.evict("i")
    await engine.sendEvent("i", "go")
    expect(await handle.result()).toBe(10)
    expect(balances()).toEqual([90, 10])
  })

  it("gives rows as plain objects of all the types that SQLite has", async () => {
    const types = workflow("types", async (ctx) =>
      ctx.transaction("types", (sql) => {
        sql.run("CREATE TABLE thing (i INTEGER, r REAL, t TEXT, b BLOB, n)")
        const { changes, lastInsertRowid } = sql.run("INSERT INTO thing VALUES (?, ?, ?, ?, ?)", 5n, 1.5, "text", new Uint8Array([1, 2]), null)
        return { changes, lastInsertRowid, row: sql.get("SELECT * FROM thing"), all: sql.all("SELECT t FROM thing"), none: sql.get("SELECT 1 WHERE 0") }
      }),
    )
    const engine = await open({ workflows: [types] })
    expect(await (await engine.start(types)).result()).toEqual({
      changes: 1,
      lastInsertRowid: 1,
      row: { i: 5, r: 1.5, t: "text", b: new Uint8Array([1, 2]), n: null },
      all: [{ t: "text" }],
      none: undefined,
    })
  })

  it("works inside a step too, where its result answers when that is entered again", async () => {
    let entered = 0
    const nested = workflow("nested", async (ctx: Context) =>
      ctx.do("outer", async ({ step }) => {
        entered++
        const balance = await step.transaction("move", (sql) => move(sql, 5))
        await step.waitForEvent("go")
        return balance
      }),
    )
    const engine = await open({ workflows: [nested] })
    const handle = await engine.start(nested, { id: "i" })
    await engine.settle()
    expect(balances()).toEqual([95, 5])
    await engine.crash()
    await engine.sendEvent("i", "go")
    expect(await handle.result()).toBe(5)
    expect(entered).toBe(2)
    expect(balances()).toEqual([95, 5])
    expect((await handle.steps()).map(({ id, type }) => [id, type])).toContainEqual(["outer/move", "transaction"])
  })

  it("stands beside other steps, sleeps and transactions of its instance", async () => {
    const many = workflow("many", async (ctx) => {
      const parts = await Promise.all([
        ctx.transaction("a", (sql) => move(sql, 1)),
        ctx.do("plain", async () => "plain"),
        ctx.transaction("b", (sql) => move(sql, 2)).then(() => ctx.do("after b", () => "after b")),
        ctx.sleep("nap", "5s"),
        ctx.transaction("c", (sql) => move(sql, 3)),
      ])
      return parts
    })
    const engine = await open({ workflows: [many] })
    const handles = await Promise.all(Array.from({ length: 5 }, (_, i) => engine.start(many, { id: `i${i}` })))
    await engine.skip("10s")
    for (const handle of handles) {
      const [a, plain, afterB, nap, c] = await handle.result()
      expect([plain, afterB, nap]).toEqual(["plain", "after b", undefined])
      expect(c).toBeGreaterThan(a)
      expect(await expectReplay(await engine.journal(handle.id), many)).toMatchObject({ outcome: { ok: true } })
    }
    expect(balances()).toEqual([70, 30])
  })
})

describe("what the store says of an instance after a transaction", () => {
  it("is that it sleeps, if the code only waits for a sleep then, and it leaves memory", async () => {
    const lazy = workflow("lazy", async (ctx) => {
      const [, balance] = await Promise.all([ctx.sleep("long", "1d"), ctx.transaction("move", (sql) => move(sql, 1))])
      return balance
    })
    const engine = await open({ workflows: [lazy] })
    const handle = await engine.start(lazy, { id: "i" })
    await engine.settle()
    expect(await handle.status()).toBe("sleeping")
    expect(engine.current.components.worker.isResident("i")).toBe(false)
    expect(await entriesOf(engine, "i")).toEqual(["run.started", "sleep.started", "step.started", "step.completed", "rested"])
    await engine.skip("1d")
    expect(await handle.result()).toBe(1)
  })

  it("is that it is paused, if a pause came before it", async () => {
    let pause: () => Promise<unknown> = async () => undefined
    const slow: StepInterceptor = async (_step, next) => {
      await pause()
      return next()
    }
    const paused = workflow("paused", async (ctx) => {
      const balance = await ctx.transaction("move", (sql) => move(sql, 1))
      return ctx.do("after", () => balance)
    })
    const engine = await open({ workflows: [paused], interceptors: [slow] })
    pause = () => engine.get("i").pause()
    const handle = await engine.start(paused, { id: "i" })
    await engine.settle()
    expect(await handle.status()).toBe("paused")
    expect(balances()).toEqual([99, 1])
    pause = async () => undefined
    await engine.crash()
    expect(await handle.status()).toBe("paused")
    await handle.resume()
    expect(await handle.result()).toBe(1)
  })

  it("is that it waits, also where the process died before the code saw the result", async () => {
    const waits = workflow("waits", async (ctx: Context) => {
      const [word] = await Promise.all([ctx.waitForEvent("word"), ctx.transaction("move", (sql) => move(sql, 1))])
      return word
    })
    const engine = await open({ workflows: [waits] })
    const { transactions } = engine.current.components.worker
    const transact = transactions!.transact.bind(transactions)
    const died = new Promise<void>((resolve) => {
      transactions!.transact = async (run) => {
        await transact(run)
        resolve()
        return new Promise(() => undefined)
      }
    })
    const handle = await engine.start(waits, { id: "i" })
    await died
    await engine.crash()
    expect(await handle.status()).toBe("waiting")
    await engine.sendEvent("i", "word", "at last")
    expect(await handle.result()).toBe("at last")
    expect(balances()).toEqual([99, 1])
  })
})

describe("interceptors", () => {
  it("surround the whole transaction, may be asynchronous, and lend the function their async context", async () => {
    const tracing = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const trace: StepInterceptor = (step, next) =>
      tracing.run(`trace of ${step.id}`, async () => {
        await Promise.resolve()
        const value = await next()
        seen.push(value, balances())
        return "something else, too late"
      })
    const pay = workflow("pay", async (ctx) =>
      ctx.transaction("move", (sql) => {
        seen.push(tracing.getStore())
        return move(sql, 10)
      }),
    )
    const engine = await open({ workflows: [pay], interceptors: [trace] })
    expect(await (await engine.start(pay)).result()).toBe(10)
    expect(seen).toEqual(["trace of move", 10, [90, 10]])
  })

  it("lend it on a real host too, and ctx is refused inside the function", async () => {
    const tracing = new AsyncLocalStorage<string>()
    const trace: StepInterceptor = (step, next) => tracing.run(`trace of ${step.id}`, async () => next())
    const traced = workflow("traced", async (ctx) =>
      ctx.transaction("move", (sql) => {
        const asked = ctx.do("inside", () => 1).catch((error: unknown) => (error as PerdureError).code)
        void asked.then((code) => refusals.push(code))
        return [tracing.getStore() ?? "", move(sql, 10)]
      }),
    )
    const refusals: unknown[] = []
    await using engine = await Perdure.open({ store: sqlite(path), workflows: [traced], interceptors: [trace] })
    expect(await (await engine.start(traced)).result()).toEqual(["trace of move", 10])
    expect(refusals).toEqual(["CTX_IN_STEP"])
  })

  it("may try it again themselves, or give a value without it", async () => {
    const again: StepInterceptor = async (step, next) => {
      if (step.id === "skipped") return "instead"
      try {
        return await next()
      } catch {
        return next()
      }
    }
    let calls = 0
    const pay = workflow("pay", async (ctx) => [
      await ctx.transaction("move", (sql) => {
        const balance = move(sql, 10)
        if (++calls === 1) throw new Error("once")
        return balance
      }),
      await ctx.transaction("skipped", (sql) => move(sql, 1)),
    ])
    const engine = await open({ workflows: [pay], interceptors: [again] })
    expect(await (await engine.start(pay)).result()).toEqual([10, "instead"])
    expect(balances()).toEqual([90, 10])
  })
})

describe("a store without transactions", () => {
  const pay = workflow("pay", async (ctx) => ctx.transaction("move", (sql) => move(sql, 10)))

  it("says so, and which has them", async () => {
    const engine = await createTestEngine({ workflows: [pay] })
    engines.push(engine)
    const handle = await engine.start(pay)
    await expect(handle.result()).rejects.toMatchObject({ code: "STEP_FAILED", cause: { code: "NO_TRANSACTIONS" } })
    expect((await handle.steps())[0]).toMatchObject({ attempts: 1, status: "failed" })
  })

  it("runs the workflow all the same where the step is replaced", async () => {
    const engine = await createTestEngine({ workflows: [pay] })
    engines.push(engine)
    engine.mockStep(pay, "move", 42)
    expect(await (await engine.start(pay)).result()).toBe(42)
  })

  it("is not what a test has to use: SQLite in memory has them, in virtual time", async () => {
    const table = workflow("table", async (ctx) => {
      await ctx.transaction("create", (sql) => void sql.run("CREATE TABLE note (text TEXT)"))
      await ctx.sleep("a while", "1d")
      return ctx.transaction("write", (sql) => sql.run("INSERT INTO note VALUES ('a')").changes)
    })
    const engine = await createTestEngine({ workflows: [table], store: sqlite(":memory:") })
    engines.push(engine)
    const handle = await engine.start(table)
    await engine.skip("1d")
    expect(await handle.result()).toBe(1)
  })
})

describe("cancel and timeout", () => {
  it("a cancel finds a transaction either done or not begun, and clean-up may be one", async () => {
    const cancelled = workflow("cancelled", async (ctx: Context) => {
      try {
        await ctx.transaction("move", (sql) => move(sql, 10))
        await ctx.sleep("long", "1d")
      } finally {
        await ctx.transaction("back", (sql) => move(sql, -10))
      }
    })
    const engine = await open({ workflows: [cancelled] })
    const handle = await engine.start(cancelled, { id: "i" })
    await engine.settle()
    expect(balances()).toEqual([90, 10])
    await handle.cancel()
    await expect(handle.result()).rejects.toMatchObject({ code: "CANCELLED" })
    expect(balances()).toEqual([100, 0])
  })

  it("a timeout that is over before the transaction could begin fails the attempt, and nothing is written", async () => {
    const slow: StepInterceptor = (_step, next) => new Promise((resolve) => engine.host.setTimer(engine.now() + 5_000, () => resolve(next())))
    const late = workflow("late", async (ctx) => ctx.transaction("move", (sql) => move(sql, 10), { timeout: "1s", retry: { maxAttempts: 1 } }))
    const engine = await open({ workflows: [late], interceptors: [slow] })
    const handle = await engine.start(late)
    await engine.skip("10s")
    await expect(handle.result()).rejects.toMatchObject({ cause: { code: "STEP_TIMEOUT" } })
    expect(balances()).toEqual([100, 0])
  })
})
