import { createHttpApp, type HttpAppOptions, serve } from "perdure/http"
import { type Client, type Context, workflow } from "perdure"
import { createTestEngine, type TestEngine } from "perdure/testing"
import { afterEach, describe, expect, it, vi } from "vitest"
import { overriding } from "../engine/method-overrides.ts"
import { decodeRich, richType } from "./wire-format.ts"

const steps = workflow("steps", async (ctx: Context<{ go: number }>) => {
  await ctx.do("first", () => 1)
  await ctx.waitForEvent("go")
  await ctx.do("second", () => 2)
})

interface Message {
  readonly id?: string
  readonly data?: string
  readonly event?: string
}

/** What an EventSource would make of a response. */
class Reader {
  readonly response: Response
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #decoder = new TextDecoder()
  #text = ""
  lastId: string | undefined

  constructor(response: Response) {
    this.response = response
    this.#reader = (response.body as ReadableStream<Uint8Array>).getReader()
  }

  /** Undefined: the stream is over. */
  async message(): Promise<Message | undefined> {
    for (;;) {
      const end = this.#text.indexOf("\n\n")
      if (end >= 0) {
        const lines = this.#text.slice(0, end).split("\n")
        this.#text = this.#text.slice(end + 2)
        const fields = Object.fromEntries(lines.filter((line) => !line.startsWith(":")).map((line) => line.split(/: (.*)/s, 2))) as Message
        this.lastId = fields.id ?? this.lastId
        return fields
      }
      const { done, value } = await this.#reader.read()
      if (done) return undefined
      this.#text += this.#decoder.decode(value, { stream: true })
    }
  }

  async change(): Promise<{ type: string; instance: string } | undefined> {
    for (;;) {
      const message = await this.message()
      if (message === undefined) return undefined
      if (message.data !== undefined) return JSON.parse(message.data) as { type: string; instance: string }
    }
  }

  async types(count: number): Promise<string[]> {
    const types: string[] = []
    while (types.length < count) types.push(`${(await this.change())?.type}`)
    return types
  }

  cancel(): Promise<void> {
    return this.#reader.cancel()
  }
}

async function open(options: HttpAppOptions = {}) {
  const engine = await createTestEngine({ workflows: [steps] })
  const app = createHttpApp(engine.current, options)
  const stream = async (path = "/stream", init: RequestInit = {}) => new Reader(await app.request(path, init))
  return { engine, app, stream, [Symbol.asyncDispose]: () => engine.close() }
}

async function run(engine: TestEngine, id: string): Promise<void> {
  await engine.start(steps, { id })
  await engine.settle()
}

function signal(): { give: () => void; readonly given: Promise<void> } {
  let give: () => void = () => undefined
  const given = new Promise<void>((resolve) => (give = resolve))
  return { give, given }
}

interface Watchers {
  readonly open?: () => void
  readonly next?: () => void
  readonly leave?: () => void
  readonly result?: () => void
}

/** The engine, with somebody who is told what is asked of it. */
function watched({ current }: TestEngine, { open, next, leave, result }: Watchers): Client {
  return overriding(current as Client, {
    changes: (cursor) => ({
      [Symbol.asyncIterator]: () => {
        open?.()
        const iterator = current.changes(cursor)[Symbol.asyncIterator]()
        return {
          cursor: () => iterator.cursor(),
          next: () => {
            next?.()
            return iterator.next()
          },
          return: () => {
            leave?.()
            return iterator.return()
          },
        }
      },
    }),
    get: ((id: string) =>
      overriding(current.get(id), {
        result: (options) => {
          result?.()
          return current.get(id).result(options)
        },
      })) as Client["get"],
  })
}

const beginning = ["workflow.started", "step.started", "step.completed"]

afterEach(() => {
  vi.useRealTimers()
})

describe("a stream", () => {
  it("tells of all that happened and happens to all instances, each with its place", async () => {
    await using api = await open()
    await run(api.engine, "a")
    const reader = await api.stream()
    expect(reader.response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8")
    expect(reader.response.headers.get("x-content-type-options")).toBe("nosniff")
    const first = (await reader.types(3)).slice(0, 3)
    expect(first).toEqual(beginning)
    await run(api.engine, "b")
    expect(await reader.change()).toMatchObject({ type: "workflow.started", instance: "b" })
    await reader.cancel()
  })

  it("goes on after the last place seen, by Last-Event-ID or cursor, without a gap or a repetition", async () => {
    await using api = await open()
    await run(api.engine, "a")
    await api.engine.sendEvent("a", "go", 1)
    const whole = await api.stream()
    const all = await whole.types(8)
    expect(all.at(-1)).toBe("workflow.completed")
    await whole.cancel()
    for (let seen = 1; seen < all.length; seen++) {
      const before = await api.stream()
      expect(await before.types(seen)).toEqual(all.slice(0, seen))
      await before.cancel()
      const byHeader = await api.stream("/stream?cursor=latest", { headers: { "Last-Event-ID": before.lastId ?? "" } })
      expect(await byHeader.types(all.length - seen)).toEqual(all.slice(seen))
      await byHeader.cancel()
      const byQuery = await api.stream(`/stream?cursor=${encodeURIComponent(before.lastId ?? "")}`)
      expect(await byQuery.types(all.length - seen)).toEqual(all.slice(seen))
      await byQuery.cancel()
    }
  })

  it("of one instance tells only of that", async () => {
    await using api = await open()
    await run(api.engine, "a")
    await run(api.engine, "b")
    const reader = await api.stream("/workflows/b/stream")
    expect(await reader.change()).toMatchObject({ instance: "b", type: "workflow.started" })
    await reader.cancel()
    expect((await api.app.request("/workflows/none/stream")).status).toBe(404)
    expect((await api.app.request("/workflows/none/stream", { method: "HEAD" })).status).toBe(404)
    const head = await api.app.request("/workflows/a/stream", { method: "HEAD" })
    expect([head.status, head.body]).toEqual([200, null])
  })

  it("from now on tells nothing of before, and its place is kept while nothing happens", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
    await using api = await open({ heartbeat: "15s" })
    await run(api.engine, "a")
    const reader = await api.stream("/stream?cursor=latest")
    await reader.message()
    vi.advanceTimersByTime(15_000)
    expect(await reader.message()).toEqual({ id: expect.any(String) as string })
    await reader.cancel()
    await run(api.engine, "b")
    const again = await api.stream("/stream?cursor=latest", { headers: { "Last-Event-ID": reader.lastId ?? "" } })
    expect(await again.change()).toMatchObject({ instance: "b", type: "workflow.started" })
    await again.cancel()
  })

  it("speaks the rich form to those who ask for it", async () => {
    await using api = await open()
    await run(api.engine, "a")
    const reader = await api.stream("/stream", { headers: { accept: `text/event-stream, ${richType}` } })
    await reader.message()
    expect(decodeRich((await reader.message())?.data ?? "")).toMatchObject({ type: "workflow.started", instance: "a" })
    await reader.cancel()
  })

  it("refuses a place that is none", async () => {
    await using api = await open()
    for (const cursor of ["nonsense", "~~", "a~b~1"]) {
      const response = await api.app.request(`/stream?cursor=${cursor}`)
      expect([response.status, await response.json()]).toMatchObject([400, { error: { code: "BAD_OPTION" } }])
    }
  })

  it("that cannot begin is left", async () => {
    await using api = await open()
    let left = 0
    const app = createHttpApp(watched(api.engine, { leave: () => left++ }))
    expect((await app.request("/stream?cursor=nonsense")).status).toBe(400)
    expect(left).toBe(1)
  })

  it("reads no further than its caller does", async () => {
    await using api = await open()
    for (let index = 0; index < 50; index++) await run(api.engine, `i${index}`)
    let taken = 0
    const counting = watched(api.engine, { next: () => taken++ })
    const reader = new Reader(await createHttpApp(counting).request("/stream"))
    await reader.types(1)
    await api.engine.settle()
    expect(taken).toBeLessThan(6)
    await reader.cancel()
  })

  it("ends when the engine is closed, and when the server is", async () => {
    const stop = new AbortController()
    await using api = await open({ signal: stop.signal })
    const first = await api.stream()
    stop.abort()
    expect(await first.change()).toBeUndefined()
    const other = createHttpApp(api.engine.current)
    const second = new Reader(await other.request("/stream"))
    await api.engine.close()
    expect(await second.change()).toBeUndefined()
  })
})

describe("over a connection", () => {
  it("a caller that goes away leaves nothing behind, and a server that is closed waits for nobody", async () => {
    const engine = await createTestEngine({ workflows: [steps] })
    let opened = 0
    let left = 0
    const isLeft = signal()
    const isWaiting = signal()
    const counting = watched(engine, {
      open: () => opened++,
      leave: () => {
        left++
        isLeft.give()
      },
      result: () => isWaiting.give(),
    })
    const server = await serve(counting, { port: 0 })
    const gone = new AbortController()
    const response = await fetch(`${server.url}/stream`, { signal: gone.signal })
    expect([opened, left]).toEqual([1, 0])
    gone.abort()
    await response.text().catch(() => undefined)
    await isLeft.given
    expect([opened, left]).toEqual([1, 1])
    const second = await fetch(`${server.url}/stream`)
    const text = second.text()
    await engine.start(steps, { id: "a" })
    const waiting = fetch(`${server.url}/workflows/a/result?wait=1m`)
    await isWaiting.given
    await server.close()
    expect(await text).toContain(": perdure")
    expect((await waiting).status).toBe(202)
    expect([opened, left]).toEqual([2, 2])
    await engine.close()
  })
})
