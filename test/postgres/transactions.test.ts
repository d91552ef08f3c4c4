// Transactions of a step in the database of the store, in real time. `describe-transactions.ts` has the cases that hold on SQLite too.

import { setTimeout as delay } from "node:timers/promises"
import { type AnyWorkflow, type Context, Perdure, type PerdureError, type PerdureOptions, type Sql, workflow } from "perdure"
import { postgres } from "perdure/postgres"
import type { PoolClient } from "pg"
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import { Gate } from "../../src/testing/scenarios/gate.ts"
import { describeTransactions } from "../describe-transactions.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"

const database = new TestDatabase(20)
const engines: Awaited<ReturnType<typeof Perdure.open>>[] = []
let schema: string

beforeEach(async () => {
  schema = database.newSchema()
  await database.pool.query(`CREATE SCHEMA ${schema}`)
  await database.pool.query(`CREATE TABLE ${schema}.account (id text PRIMARY KEY, balance integer NOT NULL)`)
  await database.pool.query(`INSERT INTO ${schema}.account VALUES ('ada', 100), ('bob', 0)`)
})
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})
afterAll(() => database.drop())

async function open(workflows: readonly AnyWorkflow[], options: PerdureOptions & { readonly maxConnections?: number } = {}) {
  const { maxConnections = 10, ...rest } = options
  const engine = await Perdure.open({ store: postgres({ ...database.options, schema, maxConnections }), workflows, log: silentLogger, ...rest })
  engines.push(engine)
  return engine
}

const balances = async () =>
  (await database.pool.query<{ balance: number }>(`SELECT balance FROM ${schema}.account ORDER BY id`)).rows.map(({ balance }) => balance)

const move = async (client: Pick<PoolClient, "query">, amount: number): Promise<number> => {
  await client.query(`UPDATE ${schema}.account SET balance = balance - $1 WHERE id = 'ada'`, [amount])
  const { rows } = await client.query<{ balance: number }>(`UPDATE ${schema}.account SET balance = balance + $1 WHERE id = 'bob' RETURNING balance`, [amount])
  return rows[0]!.balance
}

const quick = { retry: { maxAttempts: 3, initialInterval: 1, backoff: "fixed" } } as const
const never = new Promise<never>(() => undefined)

/** The codes of an error and of what it came from. */
const codesOf = (error: unknown): readonly unknown[] => (error instanceof Error ? [(error as PerdureError).code, ...codesOf(error.cause)] : [])

describeTransactions("PostgreSQL", {
  open,
  move: (ctx, name, amount, finish, options) =>
    ctx.transaction(name, async (client: PoolClient, step) => finish(await move(client, amount), step) as never, options),
  balances,
  passRetries: async () => undefined,
})

describe("a transaction on a server", () => {
  it("shows nothing of what it writes to others before its commit", async () => {
    const pay = workflow("pay", async (ctx) =>
      ctx.transaction("move", async (client: PoolClient) => {
        await move(client, 30)
        return balances()
      }),
    )
    const engine = await open([pay])
    expect(await (await engine.start(pay)).result()).toEqual([100, 0])
    expect(await balances()).toEqual([70, 30])
  })

  it("is refused what would end it or outlive it, and a client that is used after its end", async () => {
    const statements = [
      "COMMIT",
      "  /* so */ begin",
      "SELECT 1; ROLLBACK",
      "START TRANSACTION",
      "SET search_path = public",
      "LISTEN x",
      "PREPARE TRANSACTION 'x'",
    ]
    let kept: PoolClient | undefined
    const odd = workflow("odd", async (ctx) => {
      const codes = await ctx.transaction("move", async (client: PoolClient) => {
        kept = client
        await move(client, 1)
        const refused: unknown[] = []
        for (const statement of statements) refused.push(await client.query(statement).catch((error: PerdureError) => error.code))
        try {
          client.release()
        } catch (error) {
          refused.push((error as PerdureError).code)
        }
        await client.query("SAVEPOINT mine")
        await client.query("SELECT nonsense").catch(() => undefined)
        await client.query("ROLLBACK TO mine")
        await client.query("SET LOCAL search_path = public; SELECT ';commit', $$ begin; end $$")
        return refused
      })
      return codes
    })
    const engine = await open([odd])
    expect(await (await engine.start(odd)).result()).toEqual(Array.from({ length: statements.length + 1 }, () => "SQL_REFUSED"))
    expect(await balances()).toEqual([99, 1])
    await expect(kept!.query("SELECT 1")).rejects.toMatchObject({ code: "SQL_REFUSED" })
  })

  it("that catches the error of a statement fails, as PostgreSQL commits nothing after it", async () => {
    const odd = workflow("odd", async (ctx) =>
      ctx
        .transaction(
          "move",
          async (client: PoolClient) => {
            await move(client, 1)
            await client.query("SELECT nonsense").catch(() => undefined)
          },
          { retry: { maxAttempts: 1 } },
        )
        .catch((error: unknown) => codesOf(error)),
    )
    const engine = await open([odd])
    expect(await (await engine.start(odd)).result()).toEqual(["STEP_FAILED", "SQL_FAILED", "25P02"])
    expect(await balances()).toEqual([100, 0])
  })

  it("meant for SQLite says so, and writes nothing", async () => {
    const odd = workflow("odd", async (ctx) =>
      ctx.transaction("move", (sql: Sql) => sql.run("SELECT 1").changes, { retry: { maxAttempts: 1 } }).catch((error: unknown) => codesOf(error)),
    )
    const engine = await open([odd])
    expect(await (await engine.start(odd)).result()).toEqual(["STEP_FAILED", "SQL_REFUSED"])
  })

  it("a deadlock between two of them is a failed attempt of one of them, and both get there", async () => {
    const locked: string[] = []
    const both = async () => {
      while (locked.length < 2) await delay(2)
    }
    const cross = workflow("cross", async (ctx, [first, second]: readonly [string, string]) =>
      ctx.transaction(
        "cross",
        async (client: PoolClient, { attempt }) => {
          const add = (id: string) => client.query(`UPDATE ${schema}.account SET balance = balance + 1 WHERE id = $1`, [id])
          await add(first)
          locked.push(first)
          await both()
          await add(second)
          return attempt
        },
        { retry: { maxAttempts: 10, initialInterval: 200 } },
      ),
    )
    const engine = await open([cross])
    const handles = [await engine.start(cross, { input: ["ada", "bob"] }), await engine.start(cross, { input: ["bob", "ada"] })]
    const attempts = await Promise.all(handles.map((handle) => handle.result()))
    // Who gives way is for PostgreSQL to say.
    expect(Math.max(...attempts)).toBeGreaterThan(1)
    expect(await balances()).toEqual([102, 2])
  })

  it("a constraint that is checked at the commit fails the attempt there, and nothing is written", async () => {
    await database.pool.query(`CREATE TABLE ${schema}.child (parent text REFERENCES ${schema}.account (id) DEFERRABLE INITIALLY DEFERRED)`)
    const odd = workflow("odd", async (ctx) =>
      ctx
        .transaction(
          "late",
          async (client: PoolClient) => {
            await move(client, 5)
            await client.query(`INSERT INTO ${schema}.child VALUES ('nobody')`)
          },
          quick,
        )
        .catch((error: unknown) => codesOf(error)),
    )
    const engine = await open([odd])
    const handle = await engine.start(odd)
    expect(await handle.result()).toEqual(["STEP_FAILED", "SQL_FAILED", "23503"])
    expect((await handle.steps())[0]).toMatchObject({ attempts: 3, status: "failed" })
    expect(await balances()).toEqual([100, 0])
  })

  it("a timeout rolls back at once, also where a statement waits for a lock", async () => {
    const blocker = await database.pool.connect()
    await blocker.query("BEGIN")
    await blocker.query(`UPDATE ${schema}.account SET balance = 100 WHERE id = 'bob'`)
    const slow = workflow("slow", async (ctx) => {
      const failures = [
        await ctx.transaction("locked", (client: PoolClient) => move(client, 1), { timeout: 200, retry: { maxAttempts: 1 } }).catch(codesOf),
        await ctx.transaction("idle", async (client: PoolClient) => move(client, await never), { timeout: 50, retry: { maxAttempts: 1 } }).catch(codesOf),
      ]
      return failures
    })
    const engine = await open([slow])
    expect(await (await engine.start(slow)).result({ timeout: "20s" })).toEqual([
      ["STEP_FAILED", "STEP_TIMEOUT"],
      ["STEP_FAILED", "STEP_TIMEOUT"],
    ])
    const idle = await database.pool.query(`SELECT 1 FROM pg_stat_activity WHERE application_name = 'perdure' AND state LIKE 'idle in%'`)
    expect(idle.rows).toEqual([])
    await blocker.query("ROLLBACK")
    blocker.release()
    expect(await balances()).toEqual([100, 0])
  })

  it("a terminate from outside ends it, and what it wrote is rolled back", async () => {
    let aborted = false
    const begun = new Gate()
    const slow = workflow("slow", async (ctx) =>
      ctx.transaction("move", async (client: PoolClient, { signal }) => {
        await move(client, 1)
        signal.addEventListener("abort", () => (aborted = true))
        begun.open()
        return never
      }),
    )
    const engine = await open([slow])
    const handle = await engine.start(slow)
    await begun.passed
    expect(await handle.terminate("enough")).toMatchObject({ accepted: true, status: "terminated" })
    await engine.close()
    expect(aborted).toBe(true)
    expect(await balances()).toEqual([100, 0])
  })

  it("an engine that closes does not wait for ever: it rolls back, and another worker makes it anew", async () => {
    const begun = new Gate()
    let calls = 0
    const slow = workflow("slow", async (ctx) =>
      ctx.transaction("move", async (client: PoolClient) => {
        const balance = await move(client, 1)
        if (++calls > 1) return balance
        begun.open()
        return never
      }),
    )
    const first = await open([slow], { drain: 50 })
    await first.start(slow, { id: "i" })
    await begun.passed
    await first.close()
    expect(await balances()).toEqual([100, 0])
    const second = await open([slow])
    expect(await second.get("i").result({ timeout: "20s" })).toBe(1)
    expect(await balances()).toEqual([99, 1])
  })

  it("a turn that cannot be put together rolls it back, and gives its connection back", async () => {
    let breaks = 0
    const codec = {
      id: "fragile",
      encode: (bytes: Uint8Array) => {
        if (breaks-- > 0) throw new Error("no key")
        return bytes
      },
      decode: (bytes: Uint8Array) => bytes,
    }
    const pay = workflow("pay", async (ctx) =>
      ctx.transaction(
        "move",
        async (client: PoolClient, { attempt }) => {
          const balance = await move(client, 1)
          breaks = attempt < 3 ? 1 : 0
          return balance
        },
        quick,
      ),
    )
    // One at a time.
    const engine = await open([pay], { codec, maxConnections: 3 })
    for (const id of ["a", "b"]) {
      const handle = await engine.start(pay, { id })
      await handle.result({ timeout: "20s" })
      expect((await handle.steps())[0]).toMatchObject({ attempts: 3 })
    }
    expect(await balances()).toEqual([98, 2])
  })

  it("a fence that was lost while the function ran rolls the user's writes back", async () => {
    const gate = new Gate()
    const begun = new Gate()
    let calls = 0
    const slow = workflow("slow", async (ctx) =>
      ctx.transaction("move", async (client: PoolClient) => {
        const result = await move(client, 1)
        if (++calls === 1) {
          begun.open()
          await gate.passed
        }
        return result
      }),
    )
    const engine = await open([slow], { lease: "60s" })
    const handle = await engine.start(slow, { id: "i" })
    await begun.passed
    // Somebody else has written the next turn.
    await database.pool.query(
      `INSERT INTO ${schema}.journal (instance, position, count, run, at, seq, turn, entries)
      SELECT j.instance, j.position + j.count, 1, 1, j.at, j.seq, 'other', '[{"type":"rested"}]' FROM ${schema}.journal j ORDER BY j.position DESC LIMIT 1`,
    )
    gate.open()
    expect(await handle.result()).toBe(1)
    expect(calls).toBe(2)
    expect(await balances()).toEqual([99, 1])
  })

  it("a connection that breaks in the middle is no failure of the step: the same attempt is made again", async () => {
    const attempts: number[] = []
    const pay = workflow("pay", async (ctx) =>
      ctx.transaction("move", async (client: PoolClient, { attempt }) => {
        attempts.push(attempt)
        const balance = await move(client, 10)
        if (attempts.length === 1) {
          const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")
          await database.pool.query("SELECT pg_terminate_backend($1)", [rows[0]!.pid])
          await client.query("SELECT 1")
        }
        return balance
      }),
    )
    const engine = await open([pay])
    expect(await (await engine.start(pay)).result()).toBe(10)
    expect(attempts).toEqual([1, 1])
    expect(await balances()).toEqual([90, 10])
  })

  it("what happens to the instance meanwhile waits, and nothing of it is lost", async () => {
    const gate = new Gate()
    const busy = workflow("busy", async (ctx: Context) => {
      const results = await Promise.all([
        ctx.transaction("slow", async (client: PoolClient) => {
          await gate.passed
          return move(client, 1)
        }),
        ctx.transaction("other", (client: PoolClient) => move(client, 1)),
        ctx.do("beside", () => "beside"),
        ctx.waitForEvent("word"),
      ])
      return results
    })
    const engine = await open([busy])
    const handle = await engine.start(busy)
    await delay(50)
    await handle.sendEvent("word", "hello")
    await delay(50)
    expect(await handle.status()).toBe("running")
    gate.open()
    const [slow, other, ...rest] = (await handle.result()) as [number, number, ...string[]]
    expect([slow, other].toSorted((a, b) => a - b)).toEqual([1, 2])
    expect(rest).toEqual(["beside", "hello"])
    expect(await balances()).toEqual([98, 2])
  })

  it("more of them than there are connections get along, and so do limits", async () => {
    const pay = workflow("pay", { concurrency: { limit: 6 } }, async (ctx) => {
      await ctx.transaction("a", (client: PoolClient) => move(client, 1))
      await ctx.sleep("nap", 5)
      return ctx.do("outer", ({ step }) => step.transaction("inner", (client: PoolClient) => move(client, 1)))
    })
    const engine = await open([pay], { maxConnections: 3 })
    await engine.startBatch(Array.from({ length: 20 }, (_, n) => ({ workflow: pay, id: `i${n}` })))
    await Promise.all(Array.from({ length: 20 }, (_, n) => engine.get(`i${n}`).result({ timeout: "60s" })))
    expect(await balances()).toEqual([60, 40])
  })
})
