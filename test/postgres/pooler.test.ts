// Stores that cannot listen, or whose statements go over changing connections, as behind a pooler in transaction mode. In real time.

import { type AnyWorkflow, type Context, Perdure, type PerdureOptions, workflow } from "perdure"
import { postgres, type PostgresOptions } from "perdure/postgres"
import pg from "pg"
import { afterAll, afterEach, beforeEach, describe, expect, inject, it } from "vitest"
import { TestDatabase } from "../../tools/postgres/test-database.ts"

const database = new TestDatabase(5)
const poolerUrl = inject("poolerUrl")
const engines: Awaited<ReturnType<typeof Perdure.open>>[] = []
let schema: string
let warnings: string[]

beforeEach(() => {
  schema = database.newSchema()
  warnings = []
})
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})
afterAll(() => database.drop())

async function open(store: PostgresOptions, workflows: readonly AnyWorkflow[], options: PerdureOptions = {}) {
  const log = { debug() {}, info() {}, warn: (message: string) => void warnings.push(message), error() {} }
  const engine = await Perdure.open({ store: postgres({ ...store, schema }), workflows, sweep: "1h", log, ...options })
  engines.push(engine)
  return engine
}

const echo = workflow("echo", async (ctx: Context<{ word: string }>) =>
  ctx.do("twice", async () => (await Promise.resolve(2)) * 2).then(() => ctx.waitForEvent("word")),
)

/** A start, an event and a result, each in another process than the worker. */
async function converse(worker: PostgresOptions, client: PostgresOptions): Promise<void> {
  await open(worker, [echo])
  const asker = await open(client, [echo], { role: "client" })
  const handle = await asker.start(echo, { id: "i" })
  await expect.poll(() => handle.status(), { timeout: 20_000 }).toBe("waiting")
  await handle.sendEvent("word", "hello")
  expect(await handle.result({ timeout: "20s" })).toBe("hello")
}

describe("a store that does not listen", () => {
  it("finds out by asking: nobody waits for the sweep", async () => {
    await converse({ connectionString: database.url, listen: false }, { connectionString: database.url, listen: false })
    expect(warnings).toEqual([])
  })

  it("asks less and less where nothing happens", async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 5 })
    let sent = 0
    pool.on("connect", (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => unknown
      Object.assign(client, { query: (...args: unknown[]) => (sent++, query(...args)) })
    })
    const engine = await open({ pool, listen: false }, [echo])
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    const before = sent
    await new Promise((resolve) => setTimeout(resolve, 4_000))
    expect((sent - before) / 4).toBeLessThan(5)
    await engine.close()
    await pool.end()
  })

  it("goes on where listening has a way of its own that is closed, and says so", async () => {
    const nowhere = { connectionString: "postgresql://nobody@127.0.0.1:9/nothing" }
    await converse({ connectionString: database.url, listen: nowhere }, { connectionString: database.url })
    expect(warnings).toContain("the connection that listens for hints is lost; connecting again")
  })

  it("notices that it hears nothing, and asks instead", async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 5 })
    pool.on("connect", (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => unknown
      // A pooler lends the connection for this statement only.
      const deaf = (first: unknown, ...rest: unknown[]) => query(typeof first === "string" && first.startsWith("LISTEN") ? "SELECT 1" : first, ...rest)
      Object.assign(client, { query: deaf })
    })
    const worker = await open({ pool }, [echo])
    await expect.poll(() => warnings.join(), { timeout: 20_000 }).toContain("notifications of PostgreSQL do not arrive")
    const asker = await open({ connectionString: database.url }, [echo], { role: "client" })
    const handle = await asker.start(echo)
    await handle.sendEvent("word", "hello")
    expect(await handle.result({ timeout: "20s" })).toBe("hello")
    await worker.close()
    await pool.end()
  })

  it("may have a way of its own that is another's", async () => {
    await converse({ connectionString: database.url, listen: { connectionString: database.url } }, { connectionString: database.url, prepare: false })
  })

  it.each([{ listen: true }, { listen: {} }, { listen: { connectionString: "" } }, { prepare: "no" }])("options %j are refused", (odd) => {
    expect(() => postgres({ connectionString: database.url, ...(odd as object) })).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
  })
})

describe("statements that are prepared by name", () => {
  it("are given up where a connection does not know what was prepared on it, and nothing is lost", async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 5 })
    pool.on("acquire", (client) => {
      // As if each statement went over another connection.
      void client.query("DEALLOCATE ALL").catch(() => undefined)
    })
    const count = workflow("count", async (ctx) => {
      for (let n = 0; n < 10; n++) await ctx.do(`step ${n}`, () => n)
      return "done"
    })
    const engine = await open({ pool }, [count])
    expect(await (await engine.start(count)).result({ timeout: "20s" })).toBe("done")
    await engine.close()
    await pool.end()
  })
})

// Only with a pooler: `npm run test:postgres-matrix` starts PgBouncer if it is installed.
describe.runIf(poolerUrl !== undefined)("a pooler in transaction mode", () => {
  const through = { connectionString: poolerUrl ?? "" }

  it("carries everything, with a way of its own for listening", async () => {
    const whole = { ...through, prepare: false, listen: { connectionString: database.url } }
    await converse(whole, whole)
    expect(warnings).toEqual([])
  })

  it("carries everything without listening, too", async () => {
    const whole = { ...through, prepare: false, listen: false } as const
    await converse(whole, whole)
  })

  it("is noticed by stores that were told nothing of it", async () => {
    await converse(through, through)
    await expect.poll(() => warnings.join(), { timeout: 20_000 }).toContain("notifications of PostgreSQL do not arrive")
  })

  it("ten workers that start at once behind it make one schema", async () => {
    const store = { ...through, prepare: false, listen: false, maxConnections: 3 } as const
    const workers = await Promise.all(Array.from({ length: 10 }, () => open(store, [echo])))
    const handle = await workers[0]!.start(echo)
    await handle.sendEvent("word", "hello")
    expect(await handle.result({ timeout: "20s" })).toBe("hello")
  })
})
