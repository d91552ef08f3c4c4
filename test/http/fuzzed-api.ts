// Sends generated requests to an app on an engine in virtual time, and checks the responses.

import { type Context, PerdureError, workflow } from "perdure"
import { createHttpApp } from "perdure/http"
import { createTestEngine, type TestEngine } from "perdure/testing"
import { nativeId } from "../../src/dialects/cloudflare-workflows/instance-id.ts"
import { documentedRoute } from "../../src/http/dialects/route-version.ts"
import type { Route } from "../../src/http/route-definition.ts"
import { allRoutes } from "../../src/http/routes/all-routes.ts"
import { issuesOf, type JsonSchema } from "../../src/http/schema.ts"
import { errorBody } from "../../src/http/response-schemas.ts"
import { decodeRich, encodeRich, richType } from "../../src/http/wire-format.ts"
import { overriding } from "../../src/engine/method-overrides.ts"
import { counter, workflows } from "../http-api.ts"
import type { Fault, GeneratedRequest } from "./request-generator.ts"

const routes: ReadonlyMap<string, Route> = new Map(allRoutes.map((route) => [route.name, documentedRoute(route)]))
const hangMs = 20_000
const tasked = workflow("tasked", async (ctx: Context) => ctx.activity("work", { taskQueue: "far" }))

/** Counts the outcomes of requests, by operation. */
export class Tally {
  requests = 0
  succeeded = 0
  readonly outcomes = new Map<string, Set<"2xx" | "4xx">>()

  add(operation: string, status: number): void {
    this.requests++
    if (status < 300) this.succeeded++
    const seen = this.outcomes.get(operation) ?? new Set()
    this.outcomes.set(operation, seen.add(status < 300 ? "2xx" : "4xx"))
  }
}

export class FuzzedApi {
  readonly #engine: TestEngine
  readonly #app: ReturnType<typeof createHttpApp>
  readonly #failures: unknown[] = []
  #fresh = 0

  private constructor(engine: TestEngine) {
    this.#engine = engine
    const client = overriding(engine.current, { tick: async () => Promise.resolve({ processed: 0, more: false }) })
    this.#app = createHttpApp(client, {
      tick: true,
      bodyBytesMax: 100_000,
      resultWaitMax: "5ms",
      log: { error: (message, details) => this.#failures.push([message, details]) },
    })
  }

  static async open(): Promise<FuzzedApi> {
    const engine = await createTestEngine({ workflows: [...workflows, tasked], log: { debug: quiet, info: quiet, warn: quiet, error: quiet } })
    return new FuzzedApi(engine)
  }

  close(): Promise<void> {
    return this.#engine.close()
  }

  /** Sends a request. Throws if the response is wrong. */
  async send(request: GeneratedRequest, tally: Tally): Promise<void> {
    const { url, init, method } = await this.#made(request)
    const response = await this.#answerTo(url, init, `${method} ${url}`)
    const text = await bodyText(response)
    await this.#engine.settle()
    const complain = (what: string): never => {
      throw new Error(`${method} ${url} ${JSON.stringify(init)} → ${response.status} ${text.slice(0, 500)}: ${what}; ${JSON.stringify(this.#failures)}`)
    }
    if (response.status >= 500 || this.#failures.length > 0) complain("a fault of the server")
    if (response.headers.get("x-content-type-options") !== "nosniff") complain("it lacks headers")
    if (method === "HEAD" || response.status === 204) {
      if (text !== "") complain("it has a body")
    } else if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
      const issues = issuesOf(schemaOf(request, response.status), valueOf(response, text))
      if (issues.length > 0) complain(`the answer is not as the document says: ${JSON.stringify(issues)}`)
    }
    tally.add(request.operation.name, response.status)
  }

  async #answerTo(url: string, init: RequestInit, what: string): Promise<Response> {
    const answer = Promise.resolve(this.#app.request(url, init))
    let isOver = false
    answer.finally(() => (isOver = true)).catch(() => undefined)
    for (const end = Date.now() + hangMs; !isOver;) {
      await this.#engine.settle()
      if (!isOver) await this.#engine.skip("5ms")
      if (Date.now() > end) throw new Error(`${what} is not answered`)
    }
    return answer
  }

  async #made({ operation, fault, pick, query, body, isRich, isHead, junk }: GeneratedRequest): Promise<{ url: string; init: RequestInit; method: string }> {
    const values = await this.#valuesFor(operation.name, pick, query["dialect"] === "cloudflare")
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(fault === "path" ? junk.text : (values[name] ?? "none")))
    const search = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) search.append(name, Array.isArray(value) ? value.join(",") : String(value))
    if (fault === "unknownQuery") search.append(junk.key, junk.text || "1")
    if (fault === "query") for (const { name } of operation.query) search.set(name, junk.text || "1")
    const url = fault === "route" ? `/${segment(junk.key)}/${segment(junk.text)}` : path + (search.size > 0 ? `?${search.toString()}` : "")
    const method = fault === "method" ? ["PATCH", "DELETE", "PUT", "POST", "OPTIONS", "PROPFIND"][pick % 6]! : isHead ? "HEAD" : operation.method
    const headers: Record<string, string> = { ...(isRich ? { accept: richType, "content-type": richType } : { "content-type": "application/json" }) }
    if (fault === "header") headers[junk.header[0]] = junk.header[1]
    if (fault === "brokenRich") headers["content-type"] = richType
    const mayHaveBody = !["GET", "HEAD"].includes(method) && (operation.body !== undefined || fault === "method")
    const text = mayHaveBody
      ? bodyOf(
          fault,
          withIds(values["token"] === undefined ? body : { ...(body as object), token: values["token"] }, () => `f-${this.#fresh++}`, operation.name),
          junk,
          isRich,
        )
      : undefined
    return { url, method, init: { method, headers, ...(text === undefined ? undefined : { body: text }) } }
  }

  /** Values for the parameters of a path, with which the request can succeed. */
  async #valuesFor(operation: string, pick: number, isCloudflare: boolean): Promise<Record<string, string>> {
    if (operation.includes("Schedule")) {
      const id = `schedule-${pick % 3}`
      await this.#engine.schedules.create(id, { workflow: counter, every: "1h", input: 1, paused: true, overlap: "allow", ifExists: "update" })
      return { id }
    }
    if (operation === "claimTasks") return { queue: "far" }
    if (operation.endsWith("Task")) {
      await this.#engine.start(tasked, { id: `t-${this.#fresh++}` })
      await this.#engine.settle()
      const [task] = await this.#engine.current.tasks.claim("far", { worker: "w", activities: ["work"] })
      return { task: task?.id ?? "none", token: task?.token ?? "none" }
    }
    const isToBeEnded = operation.startsWith("deleteInstance")
    const id = `${isToBeEnded ? "ended" : "live"}-${pick % 4}`
    const handle = await this.#engine.start(counter, { id: isCloudflare ? nativeId("counter", id) : id, input: 1, ifExists: "return" })
    await this.#engine.settle()
    const isEnded = ["completed", "failed", "cancelled", "terminated"].includes(await handle.status())
    if (isToBeEnded && !isEnded) await handle.terminate()
    if (!isToBeEnded && isEnded) await handle.restart()
    await this.#engine.settle()
    const workflow = operation === "setLimits" || operation === "resetLimits" ? "limited" : "counter"
    return { id, workflow, event: "note", query: "total", update: "add" }
  }
}

function quiet(): void {
  // The log of workflows is ignored.
}

function segment(text: string): string {
  try {
    return encodeURIComponent(text).replaceAll(".", "%2E")
  } catch {
    return "%ED%A0%80"
  }
}

/** New instances and schedules get ids of their own. */
function withIds(body: unknown, fresh: () => string, operation: string): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body
  const isNew = ["startInstance", "startInstanceOfWorkflow", "forkInstance", "forkInstanceOfWorkflow", "createSchedule"].includes(operation)
  return isNew && "id" in body ? { ...body, id: fresh() } : body
}

function bodyOf(fault: Fault | undefined, body: unknown, junk: GeneratedRequest["junk"], isRich: boolean): string | undefined {
  switch (fault) {
    case "brokenBody":
      return `${JSON.stringify(body) ?? ""}${junk.text}{`
    case "brokenRich":
      return `{"rich":${JSON.stringify(junk.value)}}`
    case "otherBody":
      return JSON.stringify(junk.value)
    case "member": {
      const other = { ...(typeof body === "object" && body !== null ? body : {}), [junk.key]: junk.value }
      return JSON.stringify(other)
    }
    default:
      return body === undefined ? undefined : isRich ? richText(body) : JSON.stringify(body)
  }
}

/** A value without a rich form, such as a key "__proto__", is sent as it is, because a client may send it. */
function richText(body: unknown): string {
  try {
    return encodeRich(body)
  } catch (error) {
    if (PerdureError.is(error, "UNSERIALIZABLE")) return JSON.stringify(body)
    throw error
  }
}

async function bodyText(response: Response): Promise<string> {
  if (!response.headers.get("content-type")?.startsWith("text/event-stream") || !response.body) return response.text()
  const reader = response.body.getReader()
  const { value } = await reader.read()
  await reader.cancel()
  return new TextDecoder().decode(value as Uint8Array | undefined)
}

function valueOf(response: Response, text: string): unknown {
  return response.headers.get("content-type") === richType ? decodeRich(text) : JSON.parse(text)
}

/** The schema of a response in the document. A faulty request may have reached another route. */
function schemaOf({ operation, fault }: GeneratedRequest, status: number): JsonSchema {
  if (status >= 400) return errorBody.json
  const own = fault === "method" || fault === "route" || fault === "path" ? undefined : routes.get(operation.name)?.answers[status]?.schema
  return own?.json ?? {}
}
