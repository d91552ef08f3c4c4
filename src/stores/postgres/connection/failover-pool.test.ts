import { describe, expect, it } from "vitest"
import { FailoverPool, requireWritable } from "./failover-pool.ts"
import type { PostgresClient, PostgresPool } from "./pg.ts"

/** A server that is there or not. */
class FakePool implements PostgresPool {
  isThere = true
  asked = 0
  readonly client = {} as PostgresClient
  readonly name: string

  constructor(name: string) {
    this.name = name
  }

  async connect(): Promise<PostgresClient> {
    this.asked++
    if (!this.isThere) throw new Error(`${this.name} is away`)
    return this.client
  }

  async end(): Promise<void> {}

  on(): void {}
}

const servers = () => [new FakePool("a"), new FakePool("b"), new FakePool("c")] as const

describe("a pool over several servers", () => {
  it("stays with the server that it has found, and asks the others only when that is gone", async () => {
    const [a, b, c] = servers()
    const pool = new FailoverPool([a, b, c])
    expect(await pool.connect()).toBe(a.client)
    a.isThere = false
    expect(await pool.connect()).toBe(b.client)
    a.isThere = true
    expect(await pool.connect()).toBe(b.client)
    expect([a.asked, b.asked, c.asked]).toEqual([2, 2, 0])
    b.isThere = false
    c.isThere = false
    expect(await pool.connect()).toBe(a.client)
  })

  it("where none is there, it says what the one said that it had, and looks at all of them next time", async () => {
    const [a, b, c] = servers()
    const pool = new FailoverPool([a, b, c])
    for (const one of [a, b, c]) one.isThere = false
    await expect(pool.connect()).rejects.toThrow("a is away")
    c.isThere = true
    expect(await pool.connect()).toBe(c.client)
  })

  it("a server that takes no writes is none, with the code that PostgreSQL has for it", async () => {
    const client = (fixed: boolean) => ({ query: async () => ({ rows: [{ fixed }], rowCount: 1 }) }) as unknown as PostgresClient
    await expect(requireWritable(client(true))).rejects.toMatchObject({ code: "25006" })
    await requireWritable(client(false))
  })
})
