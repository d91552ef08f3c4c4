// The HTTP API under test, with workflows that show what it can do.

import { type Context, workflow } from "perdure"
import { createHttpApp, type HttpAppOptions } from "perdure/http"
import { createTestEngine, type TestEngine } from "perdure/testing"
import { expect } from "vitest"
import { z } from "zod"
import { recogniseOwnFrames } from "../src/hosts/node/own-frames.ts"
import { decodeRich, encodeRich, richType } from "../src/http/wire-format.ts"

// A server on Node does this too.
recogniseOwnFrames()

const greet = workflow("greet", { input: z.object({ name: z.string() }) }, async (ctx: Context<{ approval: { approved: boolean } }>, input) => {
  const greeting = await ctx.do("greet", () => `Hello, ${input.name}!`)
  await ctx.sleep("pause", "5s")
  const { approved } = await ctx.waitForEvent("approval", { timeout: "1m", default: { approved: false } })
  return { message: `${input.name} was ${approved ? "approved" : "not approved"}`, greeting }
})

export const counter = workflow("counter", async (ctx: Context<{ stop: undefined }>, start: number) => {
  let total = start
  ctx.setQueryHandler("total", (factor: number = 1) => total * factor)
  ctx.setQueryHandler("broken", () => {
    throw new TypeError("it is broken")
  })
  ctx.setUpdateHandler("add", (by: number) => {
    if (by < 0) throw new RangeError("only up")
    total += by
    return total
  })
  await ctx.waitForEvent("stop")
  return new Map([["total", total]])
})

const failing = workflow("failing", async () => {
  throw Object.assign(new RangeError("out of range", { cause: new Error("inner") }), { limit: 3 })
})

const limited = workflow("limited", { concurrency: { limit: 2 } }, async (ctx: Context) => ctx.sleep("a", "1h"))

export const workflows = [greet, counter, failing, limited]

/** An app on an engine in virtual time. All consequences of a call have happened when the call returns. */
export class HttpApi {
  readonly engine: TestEngine
  readonly logged: string[] = []
  readonly #app: ReturnType<typeof createHttpApp>

  constructor(engine: TestEngine, options: HttpAppOptions = {}) {
    this.engine = engine
    this.#app = createHttpApp(engine.current, { log: { error: (message) => void this.logged.push(message) }, ...options })
  }

  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const init = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await this.#app.request(path, { method, headers: { "content-type": "application/json", ...headers }, ...init })
    await this.engine.settle()
    return response
  }

  /** Sends a request, and returns the status and the body. */
  async json(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<[number, unknown]> {
    const response = await this.call(method, path, body, headers)
    const text = await response.text()
    return [response.status, text === "" ? undefined : JSON.parse(text)]
  }

  async rich(method: string, path: string, body?: unknown): Promise<[number, unknown]> {
    const init = body === undefined ? {} : { body: encodeRich(body) }
    const response = await this.#app.request(path, { method, headers: { "content-type": richType, accept: richType }, ...init })
    await this.engine.settle()
    const type = response.headers.get("content-type")
    return [response.status, type === richType ? decodeRich(await response.text()) : await response.json()]
  }
}

export async function openHttpApi(options?: HttpAppOptions): Promise<HttpApi & AsyncDisposable> {
  const engine = await createTestEngine({ workflows })
  return Object.assign(new HttpApi(engine, options), { [Symbol.asyncDispose]: () => engine.close() })
}

export const error = (code: string) => ({ error: expect.objectContaining({ code }) as unknown })
