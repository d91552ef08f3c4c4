// Users compile with this reference, because the target of their project may not have AsyncDisposable.
/// <reference lib="esnext.disposable" preserve="true" />

import type { Hono } from "hono"
import { PerdureError } from "../core/errors.ts"
import type { Client } from "../client-api/client-api.ts"
import { appOf } from "./app.ts"
import { bodyMsMax } from "./body-deadline.ts"
import type { BodyLimits } from "./request-body.ts"
import { type HttpAppOptions, httpSettings } from "./settings.ts"
import { eitherSignal } from "./combined-signal.ts"

/** Options of `serve`: the address to listen on, and the options of the app. */
export interface ServeOptions extends HttpAppOptions {
  /** The port to listen on. Default 8787; 0: any free port. */
  readonly port?: number
  /** The address to listen on. Default 127.0.0.1: only this machine. Other addresses need `token` (of at least 16 characters), `authorize` or `insecure`. */
  readonly host?: string
  /** Lets everybody who reaches the address do everything. Default: an address that others reach is refused (`BAD_OPTION`) without `token` or `authorize`, and with a token of less than 16 characters. */
  readonly insecure?: boolean
}

/** An HTTP server that is listening. */
export interface HttpServer {
  /** The address for clients, such as `http://127.0.0.1:8787`. */
  readonly url: string
  /** The address that it listens on. */
  readonly host: string
  /** The port that it listens on: the port of the options, or the free port that was found. */
  readonly port: number
  /** The app that answers: call its `fetch` in a test to make a request without a network. */
  readonly app: Hono
  /** Takes no more requests, ends streams and waits, and lets other requests finish for up to five seconds. The client stays open. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const portDefault = 8787
const closeMs = 5_000
const headersMsMax = 60_000
/** The shortest token on an address that other machines reach. */
const publicTokenLengthMin = 16

/**
 * Serves the HTTP API on Node; it needs the packages `hono` and `@hono/node-server`. Throws `ADDRESS_IN_USE`, or `BAD_OPTION` for an option that is
 * wrong, a public address without a guard, or a public address with a token of less than 16 characters.
 *
 * @example
 * const server = await serve(engine, { port: 8787, token: "secret" })
 * console.log(server.url)
 * await server.close()
 */
export async function serve(client: Client, options: ServeOptions = {}): Promise<HttpServer> {
  const { port = portDefault, host = "127.0.0.1", insecure = false, ...appOptions } = options
  if (!isLoopback(host) && !insecure && appOptions.token === undefined && appOptions.authorize === undefined) throw unguarded(host)
  // Wrong options throw before the server listens.
  const { tokens, bodyLimits } = httpSettings(client, appOptions)
  if (!isLoopback(host) && !insecure && tokens.some((token) => token.length < publicTokenLengthMin)) throw shortToken(host)
  const { serve: listen } = await nodeServer()
  const closing = new AbortController()
  let app: Hono | undefined
  const bound = await new Promise<{ server: ReturnType<typeof listen>; port: number }>((resolve, reject) => {
    // The app is created here, because only now the port is known, which the Host header has to name.
    const onListening = (address: { readonly port: number }) => {
      app = appOf(client, { ...hostsOf(host, address.port), ...appOptions, signal: eitherSignal(closing.signal, appOptions.signal) }, ownResponse)
      resolve({ server, port: address.port })
    }
    const [server, ownResponse] = withOwnResponse(() =>
      listen({ fetch: (request, bindings) => app?.fetch(request, bindings), port, hostname: host, serverOptions: timeoutsFor(bodyLimits) }, onListening),
    )
    server.once("error", (error: Error & { code?: string }) => reject(error.code === "EADDRINUSE" ? taken(host, port, error) : error))
  })
  const close = async () => {
    closing.abort()
    await new Promise<void>((resolve) => {
      const late = setTimeout(() => "closeAllConnections" in bound.server && bound.server.closeAllConnections(), closeMs)
      bound.server.close(() => {
        clearTimeout(late)
        resolve()
      })
      if ("closeIdleConnections" in bound.server) bound.server.closeIdleConnections()
    })
  }
  let closed: Promise<void> | undefined
  const closeOnce = () => (closed ??= close())
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${bound.port}`
  return { url, host, port: bound.port, app: app as unknown as Hono, close: closeOnce, [Symbol.asyncDispose]: closeOnce }
}

/**
 * Calls `listen`, and returns the Response class of `@hono/node-server`, which the server sends in half of the time. The package replaces the global
 * Request and Response of the whole process with its own classes. This function restores the global ones.
 */
function withOwnResponse<T>(listen: () => T): readonly [T, typeof Response] {
  const before = { Request, Response }
  const server = listen()
  const own = globalThis.Response
  for (const [name, value] of Object.entries(before)) Object.defineProperty(globalThis, name, { value })
  return [server, own]
}

async function nodeServer(): Promise<typeof import("@hono/node-server")> {
  try {
    return await import("@hono/node-server")
  } catch (cause) {
    throw new PerdureError("BAD_OPTION", "serve needs the package @hono/node-server: npm install hono @hono/node-server", { cause })
  }
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}

/** After these times Node closes a connection with slow headers, or with a slow body that no route reads. The app refuses slow bodies earlier. */
function timeoutsFor({ bytesMax, timeoutMs }: BodyLimits): { readonly headersTimeout: number; readonly requestTimeout: number } {
  const requestMsMax = headersMsMax + bodyMsMax(timeoutMs, bytesMax)
  // 0: Node has no limit.
  return { headersTimeout: headersMsMax, requestTimeout: requestMsMax < 2 ** 31 ? requestMsMax : 0 }
}

/** A request to a loopback address under another host name comes from a foreign DNS name. */
function hostsOf(host: string, port: number): Pick<HttpAppOptions, "allowedHosts"> {
  if (!isLoopback(host)) return {}
  const names = [...new Set(["localhost", "127.0.0.1", "[::1]", host.includes(":") ? `[${host}]` : host])]
  return { allowedHosts: [...names.map((name) => `${name}:${port}`), ...(port === 80 ? names : [])] }
}

function unguarded(host: string): PerdureError {
  return new PerdureError(
    "BAD_OPTION",
    `everybody who reaches ${host} could do everything; set token or authorize, or insecure: true if something else restricts access`,
    { details: { host } },
  )
}

function shortToken(host: string): PerdureError {
  return new PerdureError(
    "BAD_OPTION",
    `everybody who reaches ${host} can try to guess the token; use at least ${publicTokenLengthMin} random characters, such as the output of \`openssl rand -hex 32\``,
    { details: { option: "token", host, lengthMin: publicTokenLengthMin } },
  )
}

function taken(host: string, port: number, cause: unknown): PerdureError {
  return new PerdureError("ADDRESS_IN_USE", `port ${port} of ${host} is in use; stop the program that listens there, or choose another port`, {
    details: { host, port },
    cause,
  })
}
