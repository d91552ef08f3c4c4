import { describe, expect, it, vi } from "vitest"
import type { Database } from "../connection/database.ts"
import { ListenConnection, type NotifyingClient } from "./listen-connection.ts"
import { ListenConnectionCalls } from "./listen-connection-calls.ts"
import type { PostgresQuery } from "../connection/pg.ts"

type Answer = { readonly rows: Record<string, unknown>[] }

/** A connection that answers when it is told to, and statements of others that go elsewhere. */
function scene({ prepares = true, isVerified = true } = {}) {
  const asked: { readonly query: PostgresQuery; readonly answer: (text: string) => void; readonly fail: (error: Error) => void }[] = []
  const said: unknown[] = []
  const client = {
    on: () => undefined,
    off: () => undefined,
    release: (error?: unknown) => said.push(["release", error]),
    query: (query: string | PostgresQuery) => {
      if (typeof query === "string") return void said.push(query)
      return new Promise<Answer>((resolve, reject) => asked.push({ query, answer: (answer) => resolve({ rows: [{ answer }] }), fail: reject }))
    },
  } as unknown as NotifyingClient
  const onLost = vi.fn<(error: Error | undefined) => void>()
  const connection = new ListenConnection(client, ["channel"], { onNotification: () => undefined, onLost })
  connection.isVerified = isVerified
  const get = vi.fn<Database["get"]>(async (name, text) => ({ answer: `${name} over the pool: ${text.slice(0, 7)}` }))
  const database = {
    schema: `"s"`,
    functions: { consumeSingleTurn: `"s".consume_1` },
    prepares,
    get,
    failure: (error: Error, statement: string) => new Error(`${statement}: ${error.message}`),
  }
  const calls = new ListenConnectionCalls(database as unknown as Database, () => connection)
  return {
    client,
    calls,
    connection,
    asked,
    said,
    get,
    onLost,
    call: (value = 1) => calls.call("consume.write", "consumeSingleTurn", ["a", value, null, true]),
  }
}

const failure = (code: string) => Object.assign(new Error(`failed with ${code}`), { code })

describe("calls that go alone", () => {
  it("go over the connection that listens, and wait for no lock for long there", async () => {
    const { asked, get, call } = scene()
    const called = call()
    expect(asked[0]?.query).toEqual({
      name: `"s".listen.consume.write`,
      text: `SELECT set_config('lock_timeout', '50', true), "s".consume_1($1, $2, $3, $4)::text AS answer`,
      values: ["a", "1", null, "true"],
    })
    asked[0]?.answer("true")
    expect(await called).toBe("true")
    expect(get).not.toHaveBeenCalled()
  })

  it("go over the pool while another is under way there", async () => {
    const { asked, get, call } = scene()
    const first = call()
    expect(await call(2)).toBe("consume.write over the pool: SELECT ")
    expect(get).toHaveBeenCalledExactlyOnceWith("consume.write", `SELECT "s".consume_1($1, $2, $3, $4)::text AS answer`, "a", 2, null, true)
    asked[0]?.answer("false")
    expect(await first).toBe("false")
    void call(3)
    expect(asked).toHaveLength(2)
  })

  it.each([{ prepares: false }, { isVerified: false }])("go over the pool where the connection may be a pooler's: %j", async (which) => {
    const { asked, call } = scene(which)
    expect(await call()).toContain("over the pool")
    expect(asked).toEqual([])
  })

  it.each(["55P03", "40P01", "26000"])("go over the pool where nothing came of it: %s", async (code) => {
    const { asked, onLost, call } = scene()
    const called = call()
    asked[0]?.fail(failure(code))
    expect(await called).toContain("over the pool")
    expect(onLost).not.toHaveBeenCalled()
  })

  it("go no more over a connection on which somebody else forgets what was prepared", async () => {
    const { asked, call } = scene()
    const called = call()
    asked[0]?.fail(failure("26000"))
    await called
    await call()
    expect(asked).toHaveLength(1)
  })

  it("say what failed, and a connection that is of no more use is made again", async () => {
    const { asked, get, onLost, call } = scene()
    const called = call()
    asked[0]?.fail(failure("57P01"))
    await expect(called).rejects.toThrow("consume.write: failed with 57P01")
    expect(get).not.toHaveBeenCalled()
    expect(onLost).toHaveBeenCalledOnce()
  })

  it("are answered before the connection is given back", async () => {
    const { asked, connection, said, call } = scene()
    const called = call()
    const closed = connection.close()
    expect(connection.isFree).toBe(false)
    expect(said).toEqual([])
    asked[0]?.answer("true")
    expect(await called).toBe("true")
    await closed
    expect(said).toEqual([`UNLISTEN "channel"`, ["release", undefined]])
  })

  it("that cannot be sent at all fail, and hold up nobody who gives the connection back", async () => {
    const { connection, said, call, client } = scene()
    client.query = () => {
      throw new Error("no such thing here")
    }
    await expect(call()).rejects.toThrow("consume.write: no such thing here")
    expect(connection.isFree).toBe(true)
    client.query = (async (query: string) => void said.push(query)) as unknown as NotifyingClient["query"]
    await connection.close()
    expect(said).toEqual([`UNLISTEN "channel"`, ["release", undefined]])
  })

  it("that get no answer while the connection is given back: it is asked for nothing more", async () => {
    const { asked, connection, said, call } = scene()
    const called = call()
    const closed = connection.close()
    asked[0]?.fail(failure("57P01"))
    await expect(called).rejects.toThrow("57P01")
    await closed
    expect(said).toEqual([["release", failure("57P01")]])
  })
})
