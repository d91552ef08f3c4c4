// A server behind a bad network, in one process and without real time: what is to happen to each request is said before.

import { type Client } from "perdure"
import { createHttpApp } from "perdure/http"
import type { RetryPacing } from "../src/http-client/retry-pacing.ts"

/**
 *   refused     nobody listens                      reset     it is carried out, and the answer is lost
 *   unavailable somebody on the way answers 503     broken    it is carried out, and the answer breaks off
 *   html        somebody on the way answers 200     silent    it is carried out, and no answer comes
 *   code        the server answers with this error, and has done nothing
 *   cut         a stream ends after so many bytes, in the midst of an event
 */
export type Fault = "refused" | "reset" | "unavailable" | "broken" | "html" | "silent" | { readonly cut: number } | { readonly code: string }

const failed = (code: string) => new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) })

export class FaultyNetwork {
  /** What happens to the next requests, in order; undefined, and whatever comes after: nothing. */
  faults: (Fault | undefined)[] = []
  /** What was asked for: `<method> <path>`. */
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

/** The bytes before the cut arrive: an error would take back what is not read yet, so it comes with the next pull, which is when the bytes are read. */
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

/** Time that passes as soon as nothing else is to be done, but for what a caller has patience with. */
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

  /** The patience of all who wait is at its end. */
  runOut(): void {
    for (const fire of [...this.#patient]) fire()
  }
}
