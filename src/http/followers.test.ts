import { get, type IncomingMessage } from "node:http"
import { createHttpApp, serve } from "perdure/http"
import { type Change, type Client, type Context, workflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { createTestEngine, type TestEngine } from "perdure/testing"
import { afterEach, describe, expect, it, vi } from "vitest"
import type { PagedChanges } from "../engine/changes/change-sequence.ts"
import { overriding } from "../engine/method-overrides.ts"

const quick = workflow("quick", async (ctx: Context) => ctx.do("step", () => 1))
const failing = workflow("failing", async () => {
  throw new Error("x".repeat(500_000))
})

/** The messages of a stream, from its text. */
class Messages {
  #text = ""
  readonly ids: string[] = []
  lastId: string | undefined

  add(text: string): void {
    this.#text += text
    for (let end = this.#text.indexOf("\n\n"); end >= 0; end = this.#text.indexOf("\n\n")) {
      const [, id, data] = /^(?:: perdure\n)?id: (\S+)(?:\ndata: (.*))?$/s.exec(this.#text.slice(0, end)) ?? []
      this.lastId = id ?? this.lastId
      if (data !== undefined) this.ids.push((JSON.parse(data) as Change).id)
      this.#text = this.#text.slice(end + 2)
    }
  }
}

class Follower {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #decoder = new TextDecoder()
  readonly messages = new Messages()
  /** The memory that its bytes were in. */
  readonly buffers: ArrayBufferLike[] = []

  constructor(response: Response) {
    this.#reader = (response.body as ReadableStream<Uint8Array>).getReader()
  }

  async changes(count: number): Promise<readonly string[]> {
    while (this.messages.ids.length < count) {
      const { done, value } = await this.#reader.read()
      if (done) break
      const before = this.messages.ids.length
      this.messages.add(this.#decoder.decode(value, { stream: true }))
      if (this.messages.ids.length > before) this.buffers.push(value.buffer)
    }
    return this.messages.ids
  }

  leave(): Promise<void> {
    return this.#reader.cancel()
  }
}

async function allChanges({ current }: TestEngine, count: number): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const { id } of current.changes()) if (ids.push(id) === count) break
  return ids
}

/** The engine, with somebody who is told which pages are read and when a follower leaves. */
function watched({ current }: TestEngine, onPage: (page: readonly Change[]) => void, onLeave: () => void): Client {
  return overriding(current as Client, {
    changes: (cursor) => ({
      [Symbol.asyncIterator]: (): PagedChanges => {
        const iterator = current.changes(cursor)[Symbol.asyncIterator]() as PagedChanges
        return {
          cursor: () => iterator.cursor(),
          next: () => iterator.next(),
          nextPage: async () => {
            const page = await iterator.nextPage()
            if (page) onPage(page)
            return page
          },
          return: () => {
            onLeave()
            return iterator.return()
          },
        }
      },
    }),
  })
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

afterEach(() => {
  vi.useRealTimers()
})

describe("300 followers of all instances", () => {
  it("get every change in order, and a change is encoded once for all of them", async () => {
    const engine = await createTestEngine({ workflows: [quick] })
    const app = createHttpApp(engine.current)
    const open = async (headers = {}) => new Follower(await app.request("/stream?cursor=latest", { headers }))
    const followers = await Promise.all(Array.from({ length: 300 }, () => open()))
    const told = Promise.all(followers.map((follower) => follower.changes(40)))
    for (let index = 0; index < 10; index++) await engine.start(quick, { id: `i${index}` })
    await engine.settle()
    const expected = await allChanges(engine, 40)
    for (const ids of await told) expect(ids).toEqual(expected)
    const buffers = followers.map((follower) => new Set(follower.buffers))
    const all = new Set(followers.flatMap((follower) => follower.buffers))
    expect(all.size).toBeLessThanOrEqual(40)
    for (const own of buffers) expect(own).toEqual(all)
    await Promise.all(followers.map((follower) => follower.leave()))
    await engine.close()
  })

  it("that are behind by different amounts get what each of them lacks", async () => {
    const engine = await createTestEngine({ workflows: [quick] })
    const app = createHttpApp(engine.current)
    for (let index = 0; index < 150; index++) await engine.start(quick, { id: `i${index}` })
    await engine.settle()
    const expected = await allChanges(engine, 600)
    const first = new Follower(await app.request("/stream"))
    await first.changes(600)
    const cursors: (string | undefined)[] = [undefined]
    for await (const { cursor } of engine.current.changes()) if (cursors.push(cursor) === 600) break
    const behind = await Promise.all(
      Array.from({ length: 300 }, async (_, index) => {
        const cursor = cursors[index * 2]
        return new Follower(await app.request(cursor === undefined ? "/stream" : `/stream?cursor=${encodeURIComponent(cursor)}`))
      }),
    )
    await Promise.all(behind.map(async (follower, index) => expect(await follower.changes(600 - index * 2)).toEqual(expected.slice(index * 2))))
    await Promise.all([first, ...behind].map((follower) => follower.leave()))
    await engine.close()
  })

  it("are told nothing of an instance that was deleted before they came, also where others were", async () => {
    const engine = await createTestEngine({ workflows: [quick] })
    const app = createHttpApp(engine.current)
    await engine.start(quick, { id: "gone" })
    await engine.start(quick, { id: "kept" })
    await engine.settle()
    const before = new Follower(await app.request("/stream"))
    expect(await before.changes(8)).toHaveLength(8)
    await engine.get("gone").delete()
    const after = new Follower(await app.request("/stream"))
    expect(await after.changes(4)).toEqual(before.messages.ids.filter((id) => after.messages.ids.includes(id)))
    expect(await allChanges(engine, 4)).toEqual(after.messages.ids)
    await Promise.all([before.leave(), after.leave()])
    await engine.close()
  })
})

describe("a follower that does not read", () => {
  it("is cut off, and goes on after its last event without a gap", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
    const engine = await createTestEngine({ workflows: [quick] })
    const app = createHttpApp(engine.current, { heartbeat: "15s" })
    await engine.start(quick, { id: "a" })
    await engine.settle()
    const reader = new Follower(await app.request("/stream"))
    const seen = await reader.changes(4)
    for (let round = 0; round < 2; round++) {
      await engine.start(quick, { id: `b${round}` })
      await engine.settle()
    }
    for (let beat = 0; beat < 6; beat++) {
      vi.advanceTimersByTime(15_000)
      await turn()
    }
    await expect(reader.changes(12)).rejects.toMatchObject({ code: "STREAM_CUT_OFF" })
    const again = new Follower(await app.request("/stream", { headers: { "Last-Event-ID": reader.messages.lastId ?? "" } }))
    expect([...seen.slice(0, 4), ...(await again.changes(8))]).toEqual(await allChanges(engine, 12))
    await again.leave()
    await engine.close()
  })

  it("has a bounded buffer over a connection, which is closed", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
    const engine = await createTestEngine({ workflows: [failing], store: sqlite(":memory:") })
    const total = 80
    for (let index = 0; index < total / 2; index++) await engine.start(failing, { id: `i${index}` })
    await engine.settle()
    const expected = await allChanges(engine, total)
    let read = 0
    let hasLeft = false
    const client = watched(
      engine,
      (page) => (read += page.length),
      () => (hasLeft = true),
    )
    const server = await serve(client, { port: 0, heartbeat: "15s" })
    const open = (headers = {}) => new Promise<IncomingMessage>((resolve) => get(`${server.url}/stream`, { headers, agent: false }, resolve))
    const response = await open()
    response.pause()
    while (!hasLeft) {
      vi.advanceTimersByTime(15_000)
      await turn()
    }
    // The rest of its 20 MB stayed in the store.
    expect(read).toBeLessThan(total)
    const messages = new Messages()
    response.setEncoding("utf8")
    response.on("data", (text: string) => messages.add(text))
    const failure = await new Promise<Error>((resolve) => response.once("error", resolve).resume())
    expect(failure).toMatchObject({ code: "ECONNRESET" })
    const rest = await open(messages.lastId === undefined ? {} : { "Last-Event-ID": messages.lastId })
    const more = new Messages()
    rest.setEncoding("utf8")
    await new Promise<void>((resolve) =>
      rest.on("data", (text: string) => {
        more.add(text)
        if (messages.ids.length + more.ids.length >= total) resolve()
      }),
    )
    expect([...messages.ids, ...more.ids]).toEqual(expected)
    rest.destroy()
    await server.close()
    await engine.close()
  })
})
