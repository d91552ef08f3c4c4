import { connect, type Socket } from "node:net"
import { createHttpApp, type HttpServer, serve } from "perdure/http"
import { type Context, workflow } from "perdure"
import { createTestEngine } from "perdure/testing"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"

const idle = workflow("idle", async (ctx: Context, _input: unknown) => ctx.sleep("a", "1h"))

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
})

afterEach(() => {
  vi.useRealTimers()
})

/** A connection that has sent the head of a request, and the beginning of a body. */
class Caller {
  readonly #socket: Socket
  text = ""
  isClosed = false

  constructor({ port }: HttpServer, length: string) {
    this.#socket = connect(port, "127.0.0.1")
    this.#socket.setEncoding("utf8")
    this.#socket.on("data", (text: string) => (this.text += text))
    this.#socket.on("close", () => (this.isClosed = true))
    this.#socket.on("error", () => undefined)
    this.#socket.write(`POST /workflows HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${length}\r\n\r\n`)
  }

  send(text: string): void {
    this.#socket.write(text)
  }

  /** A byte a second, until the server is done with it. Gives how many it took. */
  async trickle(byte: string, countMax: number): Promise<number> {
    for (let count = 1; count <= countMax; count++) {
      this.send(byte)
      vi.advanceTimersByTime(1_000)
      await turn()
      if (this.isClosed) return count
    }
    return countMax
  }
}

describe("a body that comes too slowly over a connection", () => {
  it.each([
    ["of a known length", "Content-Length: 1000", " "],
    ["of a known length that is read in parts", "Content-Length: 1000000", " "],
    ["in chunks", "Transfer-Encoding: chunked", "1\r\n \r\n"],
  ])("%s is answered with 408, and the connection is closed", async (_, length, byte) => {
    const engine = await createTestEngine({ workflows: [idle] })
    await using server = await serve(engine.current, { port: 0, bodyTimeout: "30s" })
    const caller = new Caller(server, length)
    const sent = await caller.trickle(byte, 10_000)
    expect(caller.isClosed).toBe(true)
    expect(sent).toBeGreaterThanOrEqual(30)
    expect(caller.text).toMatch(/^HTTP\/1\.1 408 /)
    expect(caller.text).toMatch(/\r\nconnection: close\r\n/i)
    expect(caller.text).toContain('"code":"REQUEST_TIMEOUT"')
    // Others are served.
    expect((await fetch(`${server.url}/workflows`, { method: "POST", body: JSON.stringify({ type: "idle", id: "a" }) })).status).toBe(201)
    vi.useRealTimers()
    await server.close()
    await engine.close()
  })

  it("is closed also where nobody reads it, as the caller has no token", async () => {
    const engine = await createTestEngine({ workflows: [idle] })
    await using server = await serve(engine.current, { port: 0, token: "secret" })
    const caller = new Caller(server, "Content-Length: 1000")
    await caller.trickle(" ", 10_000)
    expect(caller.isClosed).toBe(true)
    expect(caller.text).toMatch(/^HTTP\/1\.1 401 /)
    vi.useRealTimers()
    await server.close()
    await engine.close()
  })
})

describe("a body", () => {
  /** A body in parts, between which time passes. */
  function inParts(parts: readonly string[], ms: number): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder()
    let sent = 0
    return new ReadableStream(
      {
        pull(controller) {
          if (sent > 0) vi.advanceTimersByTime(ms)
          const part = parts[sent++]
          if (part === undefined) controller.close()
          else controller.enqueue(encoder.encode(part))
        },
      },
      { highWaterMark: 0 },
    )
  }

  async function statusOf(parts: readonly string[], ms: number): Promise<number> {
    const engine = await createTestEngine({ workflows: [idle] })
    const init = { method: "POST", body: inParts(parts, ms), duplex: "half" } as const
    const { status } = await createHttpApp(engine.current, { bodyTimeout: "30s" }).request("/workflows", init)
    await engine.close()
    return status
  }

  const pieces = (size: number) => ['{"type":"idle","payload":"', ...Array.from({ length: 15 }, () => "x".repeat(size)), '"}']

  it("that is large and steady may take longer than the time that is set", async () => {
    expect(await statusOf(pieces(400_000), 10_000)).toBe(201)
  })

  it("that comes in small pieces may not", async () => {
    expect(await statusOf(pieces(10), 10_000)).toBe(408)
    expect(await statusOf(pieces(10), 1_000)).toBe(201)
  })
})
