import { type Context, Hono } from "hono"
import { PerdureError } from "../core/errors.ts"
import type { Client, InstanceDescription } from "../client-api/client-api.ts"
import { type RouteVersion, routeVersions } from "./dialects/route-version.ts"
import { errorAnswer } from "./error-response.ts"
import { RequestGuard, preflightHeaders } from "./request-guard.ts"
import { openApiDocument } from "./openapi.ts"
import { askPermission } from "./permission.ts"
import { encodeDocument, encodePlain } from "./plain-body.ts"
import { readBody } from "./request-body.ts"
import type { Answer, Method, Route } from "./route-definition.ts"
import { allRoutes } from "./routes/all-routes.ts"
import { documentRoute } from "./routes/service.ts"
import { type Fields, fromTexts, issuesOf, type JsonSchema, type SchemaIssue } from "./schema.ts"
import { type HttpAppOptions, httpSettings, type HttpSettings } from "./settings.ts"
import { encodeRich, isRichType, plainType, richType } from "./wire-format.ts"

/**
 * The HTTP API of a client: one app, the same on Node and in a Worker. It needs the package `hono`. Throws `BAD_OPTION` for an option that is wrong.
 *
 * @example
 * const app = createHttpApp(engine, { token: "secret" })
 * const response = await app.fetch(new Request("http://localhost/workflows/order-1", { headers: { authorization: "Bearer secret" } }))
 */
export function createHttpApp(client: Client, options: HttpAppOptions = {}): Hono {
  return appOf(client, options, Response)
}

/** `ResponseClass`: the class of the responses. A server may have a class of its own that it sends faster. */
export function appOf(client: Client, options: HttpAppOptions, ResponseClass: typeof Response): Hono {
  const settings = httpSettings(client, options)
  const document: Route = documentRoute(() => openApiDocument(routes, { isTokenNeeded: settings.tokens.length > 0 }))
  const routes = [document, ...allRoutes]
  const api = new HttpApi(client, settings, ResponseClass)
  const app = new Hono()
  for (const route of routes) app.on(route.method, numbered(route.path), api.handler(route))
  const known = new KnownPaths(routes)
  app.notFound((context) => api.answerOther(context, known.methodsOf(context.req.path)))
  app.onError((error, context) => api.fail(error, context.req.raw))
  return app
}

const safeHeaders = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
}

class HttpApi {
  readonly #client: Client
  readonly #settings: HttpSettings
  readonly #guard: RequestGuard
  readonly #Response: typeof Response

  constructor(client: Client, settings: HttpSettings, ResponseClass: typeof Response) {
    this.#Response = ResponseClass
    this.#client = client
    this.#settings = settings
    this.#guard = new RequestGuard(settings)
  }

  handler(route: Route): (context: Context) => Promise<Response> {
    const versionOf = routeVersions(route)
    const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name)
    const paramsOf = (context: Context) => Object.fromEntries(names.map((name, index) => [name, context.req.param(`p${index}`) ?? ""]))
    return async (context) => {
      const request = context.req.raw
      const version = versionOf(request.url)
      try {
        return await this.#handle(version, context, paramsOf(context))
      } catch (error) {
        return this.fail(version.dialect?.errorOf(error) ?? error, request)
      }
    }
  }

  async #handle({ route, querySchema, dialect }: RouteVersion, context: Context, given: Readonly<Record<string, string>>): Promise<Response> {
    const request = context.req.raw
    const { workflow, id } = given
    const params = dialect && workflow !== undefined && id !== undefined ? { ...given, id: dialect.nativeId(workflow, id) } : given
    this.#guard.checkHost(request)
    const isStream = Object.values(route.answers).some(({ type }) => type !== undefined)
    if (route.method !== "GET" || isStream) this.#guard.checkOrigin(request)
    if (route.actions.length > 0) this.#guard.checkToken(request)
    let described: Promise<InstanceDescription> | undefined
    const describe = () => (described ??= this.#client.describe(params["id"] ?? ""))
    const permit = async (body: unknown) => {
      const { authorize } = this.#settings
      return authorize && askPermission(authorize, { route, request, client: this.#client, params, body, describe })
    }
    // The hook gets the workflows that the body names, so it is called after the body is read. A caller without permission does not learn what is wrong with a body.
    const needsBody = route.workflowsOf !== undefined
    const early = needsBody ? undefined : await permit(undefined)
    if (early) return this.#finish(early, request)
    let input: { readonly query: object; readonly body: unknown }
    try {
      input = { query: queryOf(request.url, route.query ?? {}, querySchema), body: await this.#body(route, request) }
    } catch (error) {
      const refusal = needsBody ? await permit(undefined) : undefined
      if (refusal) return this.#finish(refusal, request)
      throw error
    }
    const late = needsBody ? await permit(input.body) : undefined
    if (late) return this.#finish(late, request)
    if (workflow !== undefined && id !== undefined) await checkBelongs(workflow, describe)
    const isHead = request.method === "HEAD"
    const answer = await route.handle({
      client: this.#client,
      settings: this.#settings,
      request,
      params,
      ...input,
      describe,
      isHead,
      disconnect: disconnectOf(context),
    } as never)
    return answer instanceof Response ? this.#finish(answer, request) : this.#respond(answer, request)
  }

  async #body({ body }: Route, request: Request): Promise<unknown> {
    if (!body) return undefined
    const value = await readBody(request, this.#settings.bodyLimits)
    if (value === undefined && !body.required) return undefined
    if (value === undefined) throw badRequest("the body", [{ path: "", message: "is missing" }])
    const issues = issuesOf(body.schema.json, value)
    if (issues.length > 0) throw badRequest("the body", issues)
    return value
  }

  #respond({ status, isEmpty, ...answer }: Answer, request: Request): Response {
    const headers: Record<string, string> = { ...safeHeaders, ...this.#guard.corsHeaders(request) }
    if (isEmpty) return new this.#Response(null, { status, headers })
    const isRich = isRichType(request.headers.get("accept"))
    headers["content-type"] = isRich ? richType : plainType
    headers["vary"] = headers["vary"] === undefined ? "Accept" : "Accept, Origin"
    return new this.#Response(encoded(answer, isRich, this.#settings.plainBytesMax), { status, headers })
  }

  /** Adds the security headers to a response of a hook or a stream. */
  #finish(response: Response, request: Request): Response {
    const finished = new Response(response.body, response)
    for (const [name, value] of Object.entries({ ...safeHeaders, ...this.#guard.corsHeaders(request) }))
      if (!finished.headers.has(name)) finished.headers.set(name, value)
    return finished
  }

  /** Answers a request to an unknown path, or with a method that the path does not have. */
  answerOther(context: Context, methods: readonly Method[]): Response {
    const request = context.req.raw
    const allow = [...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"].join(", ")
    try {
      this.#guard.checkHost(request)
    } catch (error) {
      return this.fail(error, request)
    }
    if (methods.length === 0)
      return this.fail(new PerdureError("UNKNOWN_ROUTE", `there is no route ${context.req.path}; /openapi.json lists all routes`), request)
    if (request.method !== "OPTIONS") {
      const error = new PerdureError("METHOD_NOT_ALLOWED", `route ${context.req.path} does not take ${request.method}; it takes ${allow}`, {
        details: { allow },
      })
      return this.fail(error, request, { allow })
    }
    const cors = this.#guard.corsHeaders(request)
    const preflight = cors?.["access-control-allow-origin"] === undefined ? undefined : { ...preflightHeaders, "access-control-allow-methods": allow }
    return new this.#Response(null, { status: 204, headers: { ...safeHeaders, allow, ...cors, ...preflight } })
  }

  /** Answers with an error. It never throws, and its answer does not name anything inside the server. */
  fail(error: unknown, request: Request, more: Readonly<Record<string, string>> = {}): Response {
    // The caller has gone away.
    if (request.signal.aborted) return new Response(null, { status: 499 })
    const id = crypto.randomUUID()
    const { status, body } = errorAnswer(error, () => id)
    if (status >= 500) this.#log(`${request.method} ${new URL(request.url).pathname} failed (${id})`, { id, error })
    const headers: Record<string, string> = { ...safeHeaders, ...this.#guard.corsHeaders(request), ...more, "content-type": plainType }
    if (status === 401) headers["www-authenticate"] = "Bearer"
    if (status === 503) headers["retry-after"] = "1"
    // Node would read the rest of the body as the next request.
    if (PerdureError.is(error, "REQUEST_TIMEOUT")) headers["connection"] = "close"
    return new this.#Response(body, { status, headers })
  }

  #log(message: string, details: Readonly<Record<string, unknown>>): void {
    try {
      this.#settings.log.error(message, details)
    } catch {
      // A logger that fails must not prevent the answer.
    }
  }
}

/** The server of Node passes its own response object in `env`. */
function disconnectOf({ env }: Context): (() => void) | undefined {
  const { outgoing } = (env ?? {}) as { readonly outgoing?: { readonly destroy?: () => void } }
  return outgoing?.destroy && (() => outgoing.destroy?.())
}

/** Only the answer of a query handler can be a value that cannot be encoded. */
function encoded({ value, isValue }: Pick<Answer, "value" | "isValue">, isRich: boolean, plainBytesMax: number): string {
  try {
    return isRich ? encodeRich(value) : (isValue === true ? encodePlain : encodeDocument)(value, plainBytesMax)
  } catch (error) {
    if (PerdureError.is(error, "TOO_LARGE_FOR_JSON")) throw error
    throw new PerdureError("HANDLER_FAILED", `the answer cannot be sent: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

function queryOf(url: string, fields: Fields, schema: JsonSchema): object {
  const start = url.indexOf("?")
  if (start === -1) return {}
  const texts = new URLSearchParams(url.slice(start))
  const query: Record<string, unknown> = {}
  for (const key of new Set(texts.keys())) {
    const given = texts.getAll(key).filter((text) => text !== "")
    if (given.length > 0)
      Object.defineProperty(query, key, { value: fromTexts((Object.hasOwn(fields, key) && fields[key]?.json) || {}, given), enumerable: true })
  }
  const issues = issuesOf(schema, query)
  if (issues.length > 0) throw badRequest("the query", issues)
  return query
}

async function checkBelongs(workflow: string, describe: () => Promise<InstanceDescription>): Promise<void> {
  const { id, workflow: own } = await describe()
  if (own !== workflow) throw new PerdureError("NOT_FOUND", `there is no instance "${id}" of workflow "${workflow}"`, { details: { instance: id, workflow } })
}

function badRequest(what: string, issues: readonly SchemaIssue[]): PerdureError {
  const listed = issues.map(({ path, message }) => `${path === "" ? what : path} ${message}`).join("; ")
  return new PerdureError("BAD_REQUEST", `${what} does not fit the route: ${listed}`, { details: { issues } })
}

/** Parameters at the same place get the same name, so that the router can build one expression for all paths. */
function numbered(path: string): string {
  let index = 0
  return path.replaceAll(/:\w+/g, () => `:p${index++}`)
}

/** The methods of each path, for requests that no route accepts. */
class KnownPaths {
  readonly #patterns: readonly { readonly pattern: RegExp; readonly method: Method }[]

  constructor(routes: readonly Route[]) {
    this.#patterns = routes.map(({ path, method }) => ({ pattern: new RegExp(`^${path.replaceAll(/:\w+/g, "[^/]+")}$`), method }))
  }

  methodsOf(path: string): readonly Method[] {
    return [...new Set(this.#patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))]
  }
}
