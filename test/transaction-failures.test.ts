// What goes wrong in a transaction: in its function, in its statements, in the store. Nothing is half written, and the instance gets on.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { type AnyWorkflow, type Context, PerdureError, type Sql, type SqlValue, workflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { createTestEngine, type TestEngine, type TestEngineOptions } from "../src/testing/test-engine.ts"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { Transactions } from "../src/ports/transactions.ts"
import { Gate } from "../src/testing/scenarios/gate.ts"

let folder: string
let path: string
let outside: DatabaseSync
let engines: TestEngine[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-transactions-"))
  path = join(folder, "app.db")
  engines = []
  outside = new DatabaseSync(path)
  outside.exec("PRAGMA journal_mode = WAL; CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT UNIQUE) STRICT")
})

afterEach(async () => {
  for (const engine of engines) await engine.close()
  outside.close()
  rmSync(folder, { recursive: true })
})

const open = async (workflows: readonly AnyWorkflow[], options: Partial<TestEngineOptions> = {}): Promise<TestEngine> => {
  const engine = await createTestEngine({
    workflows,
    seed: `engine ${engines.length}`,
    store: sqlite(path, { durability: "process", busyTimeout: 1 }),
    ...options,
  })
  engines.push(engine)
  return engine
}

const notes = () =>
  outside
    .prepare("SELECT text FROM note ORDER BY id")
    .all()
    .map((row) => row["text"])
const write = (sql: Sql, text: SqlValue) => sql.run("INSERT INTO note (text) VALUES (?)", text)
const once = { retry: { maxAttempts: 1 } } as const

/** A workflow of one transaction that is tried once; its error is its cause's. */
const oneOf = (fn: (sql: Sql) => unknown) =>
  workflow("one", async (ctx) => {
    try {
      return await ctx.transaction("one", fn as (sql: Sql) => string, once)
    } catch (error) {
      throw (error as Error).cause
    }
  })

const outcomeOf = async (fn: (sql: Sql) => unknown): Promise<unknown> => {
  const one = oneOf(fn)
  await using engine = await open([one])
  return await (await engine.start(one)).result().catch((error: unknown) => error)
}

/** What the store of this engine does instead. */
const instead = (engine: TestEngine, transact: (next: Transactions["transact"]) => Transactions["transact"]) => {
  const transactions = engine.current.components.worker.transactions!
  const next = transactions.transact.bind(transactions)
  transactions.transact = transact(next)
  return () => {
    transactions.transact = next
  }
}

const thenable = { ["th" + "en"]: () => undefined }

describe("a function that gives a promise", () => {
  it("is refused, writes nothing, is not tried again, and what it does later fails", async () => {
    let after: unknown
    let attempts = 0
    const late = workflow("late", async (ctx) =>
      ctx.transaction("late", (async (sql: Sql) => {
        attempts++
        write(sql, "before")
        await Promise.resolve()
        try {
          write(sql, "after")
        } catch (error) {
          after = error
        }
      }) as unknown as (sql: Sql) => string),
    )
    const engine = await open([late])
    const handle = await engine.start(late)
    await expect(handle.result()).rejects.toMatchObject({ cause: { code: "ASYNC_TRANSACTION", details: { step: "late" } } })
    expect(attempts).toBe(1)
    expect(after).toMatchObject({ code: "SQL_REFUSED" })
    expect(notes()).toEqual([])
  })

  it("is one also if only its result is a thenable, and a rejected one harms nobody", async () => {
    expect(await outcomeOf((sql) => (write(sql, "a"), Object.assign(() => 1, thenable)))).toMatchObject({ code: "ASYNC_TRANSACTION" })
    expect(await outcomeOf((sql) => (write(sql, "a"), Promise.reject(new Error("unseen"))))).toMatchObject({ code: "ASYNC_TRANSACTION" })
    expect(notes()).toEqual([])
  })
})

describe("a statement", () => {
  it("that is wrong says what SQLite says, and which statement it was", async () => {
    expect(await outcomeOf((sql) => sql.get("SELECT * FROM absent"))).toMatchObject({
      code: "SQL_FAILED",
      message: "no such table: absent",
      details: { sql: "SELECT * FROM absent" },
    })
    for (const [value, name] of [
      [true, "Boolean"],
      [new Date(0), "Date"],
      [undefined, "Undefined"],
      [{ text: "a" }, "Object"],
    ] as const) {
      const error = await outcomeOf((sql) => write(sql, value as unknown as string))
      expect(error).toMatchObject({ code: "SQL_REFUSED", message: expect.stringContaining(`has ${name} as its value 1`) as string })
    }
    expect(await outcomeOf((sql) => sql.run("INSERT INTO note (text) VALUES (?)", "a", "b"))).toMatchObject({ code: "SQL_FAILED" })
    expect(await outcomeOf((sql) => sql.run(5 as unknown as string))).toMatchObject({ code: "SQL_REFUSED" })
  })

  it("that violates a constraint can be caught, and the rest is kept", async () => {
    const outcome = await outcomeOf((sql) => {
      write(sql, "a")
      try {
        write(sql, "a")
      } catch (error) {
        return PerdureError.is(error, "SQL_FAILED") ? error.message : error
      }
      return "not refused"
    })
    expect(outcome).toBe("UNIQUE constraint failed: note.text")
    expect(notes()).toEqual(["a"])
  })

  it("that would end the transaction is refused, and can be caught", async () => {
    const outcome = await outcomeOf((sql) => {
      write(sql, "a")
      const refused = ["COMMIT", "ROLLBACK", "BEGIN", "DELETE FROM perdure_journal", "PRAGMA journal_mode = DELETE", "SELECT 1; COMMIT"].map((statement) => {
        try {
          return sql.run(statement)
        } catch (error) {
          return (error as PerdureError).code
        }
      })
      write(sql, "b")
      return refused
    })
    expect(outcome).toEqual(Array.from({ length: 6 }, () => "SQL_REFUSED"))
    expect(notes()).toEqual(["a", "b"])
  })

  it("that makes SQLite roll back by itself ends the transaction, whether the error is caught or not", async () => {
    const errors: unknown[] = []
    const attempt = (statement: () => void) => {
      try {
        statement()
      } catch (error) {
        errors.push(error)
      }
    }
    const outcome = await outcomeOf((sql) => {
      write(sql, "a")
      attempt(() => sql.run("INSERT OR ROLLBACK INTO note (text) VALUES ('a')"))
      attempt(() => write(sql, "on its own"))
      return "as if nothing had happened"
    })
    expect(outcome).toMatchObject({ code: "SQL_FAILED", message: "UNIQUE constraint failed: note.text" })
    expect(errors).toHaveLength(2)
    expect(errors[1]).toBe(errors[0])
    expect(notes()).toEqual([])
    expect(await outcomeOf((sql) => sql.run("INSERT OR ROLLBACK INTO note (id, text) VALUES (1, 'a'), (1, 'b')"))).toMatchObject({ code: "SQL_FAILED" })
    expect(notes()).toEqual([])
  })

  it("for a savepoint of the user's own works, also one that is left open", async () => {
    await outcomeOf((sql) => {
      write(sql, "a")
      sql.run("SAVEPOINT mine")
      write(sql, "b")
      sql.run("ROLLBACK TO mine")
      write(sql, "c")
      sql.run("RELEASE mine")
      sql.run("SAVEPOINT open")
      write(sql, "d")
    })
    expect(notes()).toEqual(["a", "c", "d"])
  })

  it("that leaves a foreign key open until the end fails the step there, and nothing is written", async () => {
    outside.exec("CREATE TABLE reply (to_note INTEGER REFERENCES note (id) DEFERRABLE INITIALLY DEFERRED)")
    let attempts = 0
    const dangling = workflow("dangling", async (ctx) => {
      const failed = await ctx
        .transaction("reply", (sql) => (attempts++, write(sql, "a"), sql.run("INSERT INTO reply VALUES (999)").changes), { retry: { maxAttempts: 2 } })
        .catch((error: unknown) => ((error as Error).cause as PerdureError).code)
      return [
        failed,
        await ctx.transaction("good", (sql) => (sql.run("INSERT INTO reply VALUES (7)"), sql.run("INSERT INTO note VALUES (7, 'seven')").changes)),
      ]
    })
    const engine = await open([dangling])
    const handle = await engine.start(dangling)
    await engine.skip("10s")
    expect(await handle.result()).toEqual(["SQL_FAILED", 1])
    expect(attempts).toBe(2)
    expect(notes()).toEqual(["seven"])
  })
})

const flow = workflow("flow", async (ctx: Context, text: string) => {
  const plain = ctx.do("plain", () => "plain")
  const id = await ctx.transaction("note", (sql, { attempt }) => [Number(write(sql, text).lastInsertRowid), attempt] as const)
  return [await plain, ...id] as const
})

describe("a store in trouble", () => {
  it("that is locked by another process makes the transaction wait, as the same attempt", async () => {
    const engine = await open([flow])
    let calls = 0
    instead(engine, (next) => async (run) => {
      if (++calls === 1) outside.exec("BEGIN IMMEDIATE")
      return next(run)
    })
    const handle = await engine.start(flow, { input: "a" })
    await engine.skip("1s")
    outside.exec("COMMIT")
    expect(await handle.status()).toBe("running")
    await engine.skip("10s")
    expect(await handle.result()).toEqual(["plain", 1, 1])
    expect(notes()).toEqual(["a"])
  })

  it("that is full takes the transaction once there is room, and counts no failure", async () => {
    const ballast = workflow("ballast", async (_ctx, input: string) => input.length)
    const bulky = workflow("bulky", async (ctx) =>
      ctx.transaction("note", (sql, { attempt }) => [Number(write(sql, "x".repeat(300_000)).lastInsertRowid), attempt]),
    )
    const engine = await open([bulky, ballast], { store: sqlite(path, { durability: "process", maxPageCount: 300 }) })
    await (await engine.start(ballast, { id: "ballast", input: "b".repeat(700_000) })).result()
    const handle = await engine.start(bulky)
    await engine.skip("30s")
    expect(notes()).toEqual([])
    expect((await handle.steps()).find(({ id }) => id === "note")).toMatchObject({ status: "running" })
    await engine.get("ballast").delete()
    await engine.skip("10s")
    expect(await handle.result()).toEqual([1, 1])
    expect(notes()).toHaveLength(1)
  })

  it("that fails at the commit, or does not answer, has the instance loaded again, and what was written counts once", async () => {
    for (const [when, attempt] of [
      ["before", 1],
      ["after", 1],
      ["at the commit", 2],
    ] as const) {
      const engine = await open([flow])
      let faults = 0
      instead(engine, (next) => async (run) => {
        if (faults++ > 0) return next(run)
        if (when === "before") throw new Error("the line is dead")
        if (when === "after") await next(run)
        else await next((sql) => (run(sql), fail())).catch(() => undefined)
        throw new Error("the answer is lost")
      })
      const fail = (): never => {
        throw new Error("the disk died")
      }
      const handle = await engine.start(flow, { id: when.replaceAll(" ", "-"), input: when })
      await engine.skip("10s")
      expect({ when, result: await handle.result() }).toEqual({ when, result: ["plain", expect.any(Number), attempt] })
      expect(notes().filter((text) => text === when)).toHaveLength(1)
      await engine.close()
    }
  })

  it("whose instance another writer has advanced meanwhile loses the turn, and with it what was written", async () => {
    const slow = workflow("slow", async (ctx: Context) => {
      const id = await ctx.transaction("note", (sql) => Number(write(sql, `run ${ctx.instance.run}`).lastInsertRowid))
      return [ctx.instance.run, id]
    })
    const engine = await open([slow])
    const outcomes: unknown[] = []
    instead(engine, (next) => async (run) => {
      // As a client in another process would: the owner hears of it too late.
      if (outcomes.length === 0) {
        const { position } = outside.prepare("SELECT max(position + count) AS position FROM perdure_journal").get() as { position: number }
        outside.exec(
          `INSERT INTO perdure_journal (instance, position, count, run, at, turn, entries) SELECT instance, ${position}, 1, 1, at, 'other', '[{"type":"paused"},{"type":"resumed"}]' FROM perdure_journal LIMIT 1`,
        )
        outside.exec(`UPDATE perdure_journal SET count = 2 WHERE turn = 'other'`)
      }
      const outcome = await next(run)
      outcomes.push(outcome, notes())
      return outcome
    })
    const handle = await engine.start(slow, { id: "i" })
    await engine.skip("5s")
    expect(await handle.result()).toEqual([1, 1])
    expect(outcomes).toEqual(["lost", [], "committed", ["run 1"]])
    expect(notes()).toEqual(["run 1"])
  })

  it("has the whole transaction or nothing of it when its engine is killed meanwhile", async () => {
    const engine = await open([flow])
    const killed = new Promise<void>((resolve) => {
      instead(
        engine,
        (next) => (run) =>
          next((sql) => {
            const turn = run(sql)
            resolve()
            engine.current.kill()
            return turn
          }),
      )
    })
    const handle = await engine.start(flow, { id: "i", input: "a" })
    await killed
    await engine.crash()
    await engine.skip("5s")
    expect(await handle.result()).toEqual(["plain", 1, 1])
    expect(notes()).toEqual(["a"])
  })

  it("terminated while its transaction is on the way, it writes nothing", async () => {
    const engine = await open([flow])
    const [gate, called] = [new Gate(), new Gate()]
    instead(engine, (next) => async (run) => {
      called.open()
      await gate.passed
      return next(run)
    })
    const handle = await engine.start(flow, { id: "i", input: "a" })
    await called.passed
    await handle.terminate()
    gate.open()
    await engine.skip("5s")
    await expect(handle.result()).rejects.toMatchObject({ code: "TERMINATED" })
    expect(notes()).toEqual([])
  })

  it("is waited for by events, pauses and cancels that come while a transaction is on its way", async () => {
    const long = workflow("long", async (ctx) => {
      await ctx.transaction("note", (sql) => write(sql, "a").changes)
      await ctx.sleep("long", "1d")
    })
    const engine = await open([long])
    const [gate, called] = [new Gate(), new Gate()]
    instead(engine, (next) => async (run) => {
      called.open()
      await gate.passed
      return next(run)
    })
    const handle = await engine.start(long, { id: "i" })
    await called.passed
    const cancelled = handle.cancel("enough")
    for (let i = 0; i < 5; i++) await new Promise<void>((resolve) => setImmediate(resolve))
    gate.open()
    await cancelled
    await engine.skip("1s")
    await expect(handle.result()).rejects.toMatchObject({ code: "CANCELLED" })
    const types = (await handle.history()).entries.map(({ type }) => type)
    expect(types).toEqual(expect.arrayContaining(["step.completed", "cancel.requested"]))
    expect(types.indexOf("step.completed")).toBeLessThan(types.indexOf("cancel.requested"))
    expect(notes()).toEqual(["a"])
  })
})
