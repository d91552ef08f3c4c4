// A server behind a bad network, in one process and without real time. The test sets in advance what happens to each request.

import { type Client } from "perdure"
import { createHttpApp } from "perdure/http"
import type { RetryPacing } from "../src/http-client/retry-pacing.ts"

/**
 *   refused     no server listens                   reset     the server handles the request, and the response is lost
 *   unavailable a proxy responds with 503           broken    the server handles the request, and the response breaks off
 *   html        a proxy responds with 200           silent    the server handles the request, and no response comes
 *   code        the server responds with this error, and has done nothing
 *   cut         a stream ends after this many bytes, in the middle of an event
 */
export type Fault = "refused" | "reset" | "unavailable" | "broken" | "html" | "silent" | { readonly cut: number } | { readonly code: string }

const failed = (code: string) => new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) })

export class FaultyNetwork {
  /** The faults of the next requests, in order. Undefined is no fault, and later requests have no fault. */
  faults: (Fault | undefined)[] = []
  /** The requests so far: `<method> <path>`. */
  readonly seen: string[] = []
  readonly #app: ReturnType<typeof createHttpApp>

  constructor(client: Client, token?: string) {
    this.#app = createHttpApp(client, { heartbeat: "1h", ...(token === undefined ? undefined : { token }), log: { error: () => undefined } })
  }

  readonly fetch = async (...[input, init]: Parameters<typeof globalThis.fetch>): Promise<Response> => {
    const request = new Request(input, init)
    this.seen.push(`${request.method} ${new URL(request.url).pathname}`)
    const fault = this.faults.shift()
    if (fault === "refused") throw failed("ECONNREFUSED")
    if (fault === "unavailable") return new Response("<html>busy</html>", { status: 503, headers: { "content-type": "text/html", "retry-after": "2" } })
    if (fault === "html") return new Response("<html>welcome</html>", { headers: { "content-type": "text/html" } })
    if (typeof fault === "object" && "code" in fault) return Response.json({ error: { code: fault.code, message: "not now" } }, { status: 503 })
    const response = await this.#app.fetch(request)
    if (fault === "reset") throw failed("ECONNRESET")
    if (fault === "silent") return new Promise((_, reject) => request.signal.addEventListener("abort", () => reject(request.signal.reason as Error)))
    if (fault === "broken" && response.body) return new Response(cutOff(response.body, 3), response)
    if (typeof fault === "object" && response.body) return new Response(cutOff(response.body, fault.cut), response)
    return response
  }
}

/** The bytes before the cut arrive. An error would discard unread bytes, so it comes with the next pull, after the bytes were read. */
function cutOff(body: ReadableStream<Uint8Array>, bytes: number): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let left = bytes
  return new ReadableStream({
    pull: async (controller) => {
      if (left <= 0) {
        void reader.cancel()
        return controller.error(failed("ECONNRESET"))
      }
      const { done, value } = await reader.read()
      if (done) return controller.close()
      controller.enqueue(value.subarray(0, left))
      left -= value.length
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

/** Virtual time for retries. Waits of less than 15 s pass at once; longer waits pass only on request. */
export class TestPace implements RetryPacing {
  #now = 0
  readonly #patient = new Set<() => void>()

  now(): number {
    return this.#now
  }

  after(ms: number, fire: () => void): () => void {
    const due = this.#now + ms
    let isOff = false
    const once = () => {
      if (isOff) return
      isOff = true
      this.#patient.delete(once)
      this.#now = Math.max(this.#now, due)
      fire()
    }
    if (ms < 15_000) setImmediate(once)
    else this.#patient.add(once)
    return () => {
      isOff = true
      this.#patient.delete(once)
    }
  }

  /** Lets all long waits pass. */
  runOut(): void {
    for (const fire of [...this.#patient]) fire()
  }
}
