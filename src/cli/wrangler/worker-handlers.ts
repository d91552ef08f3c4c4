import type { Logger } from "../../ports/host.ts"
import { executionContext } from "../../dialects/cloudflare-workflows/execution-context.ts"

/** What a cron trigger gives to `scheduled`. */
interface ScheduledController {
  readonly type: "scheduled"
  readonly cron: string
  readonly scheduledTime: number
  noRetry(): void
}

type Handler = (this: unknown, ...args: readonly unknown[]) => unknown
type HandlerName = "fetch" | "scheduled"

/** How long `close` waits for promises of `waitUntil`. */
const waitMsMax = 2_000

/** The handlers of a Worker: the methods of its default export, or of a class that extends WorkerEntrypoint. */
export class WorkerHandlers {
  readonly #exported: unknown
  readonly #env: unknown
  readonly #exports: Readonly<Record<string, unknown>>
  readonly #log: Logger
  readonly #waiting = new Set<Promise<unknown>>()

  constructor(exported: unknown, env: unknown, exports: Readonly<Record<string, unknown>>, log: Logger) {
    this.#exported = exported
    this.#env = env
    this.#exports = exports
    this.#log = log
  }

  has(name: HandlerName): boolean {
    const owner: unknown = typeof this.#exported === "function" ? this.#exported.prototype : this.#exported
    return typeof (Object(owner) as Record<string, unknown>)[name] === "function"
  }

  /** Answers a request. An error of the Worker becomes an answer with the status 500, and is logged. */
  async fetch(request: Request): Promise<Response> {
    if (!this.has("fetch")) return new Response("this Worker has no fetch handler\n", { status: 404 })
    try {
      const response: unknown = await this.#call("fetch", request)
      if (isResponse(response)) return response
      throw new TypeError("the fetch handler has to return a Response")
    } catch (error) {
      this.#log.error(`fetch failed: ${request.method} ${new URL(request.url).pathname}`, { error })
      return new Response(`${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}\n`, { status: 500 })
    }
  }

  /** Calls the handler for a cron trigger. An error is logged. Resolves to whether the handler succeeded. */
  async scheduled(cron: string, scheduledTime: number): Promise<boolean> {
    const controller: ScheduledController = { type: "scheduled", cron, scheduledTime, noRetry: () => undefined }
    try {
      await this.#call("scheduled", controller)
      return true
    } catch (error) {
      this.#log.error(`scheduled failed: ${cron === "" ? "called by hand" : cron}`, { error })
      return false
    }
  }

  /** Waits for promises of `waitUntil`, but not for long. */
  async close(): Promise<void> {
    if (this.#waiting.size === 0) return
    let timer: NodeJS.Timeout | undefined
    const late = new Promise((resolve) => (timer = setTimeout(resolve, waitMsMax)))
    await Promise.race([Promise.allSettled(this.#waiting), late])
    clearTimeout(timer)
  }

  async #call(name: HandlerName, argument: unknown): Promise<unknown> {
    const ctx = this.#context()
    if (typeof this.#exported !== "function")
      return ((this.#exported as Record<string, unknown>)[name] as Handler).call(this.#exported, argument, this.#env, ctx)
    const entrypoint = Reflect.construct(this.#exported, [ctx, this.#env]) as Record<string, Handler>
    return entrypoint[name]?.(argument)
  }

  #context(): unknown {
    const ctx = executionContext(this.#exports, this.#log)
    const waitUntil = (promise: Promise<unknown>) => {
      ctx.waitUntil(promise)
      const settled = Promise.resolve(promise).catch(() => undefined)
      this.#waiting.add(settled)
      void settled.then(() => this.#waiting.delete(settled))
    }
    return { ...ctx, waitUntil }
  }
}

/** A package may bring a Response class of its own. */
function isResponse(value: unknown): value is Response {
  return value instanceof Response || (typeof value === "object" && value !== null && "status" in value && "headers" in value && "arrayBuffer" in value)
}
