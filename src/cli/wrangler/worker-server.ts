import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { CommandError, exitCodes } from "../exit-code.ts"
import type { WorkerHandlers } from "./worker-handlers.ts"

/** The path that calls the scheduled handler, as in wrangler. Paths below /cdn-cgi belong to Cloudflare and not to Workers. */
const scheduledPath = "/cdn-cgi/handler/scheduled"
const closeMs = 2_000

/** Serves the handlers of a Worker on this machine. */
export async function serveWorker(handlers: WorkerHandlers, port: number): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((incoming, outgoing) => {
    // A client that goes away breaks the pipeline, and nobody needs the answer any more.
    answer(handlers, incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: Error & { code?: string }) => reject(error.code === "EADDRINUSE" ? taken(port, error) : error))
    server.listen(port, "127.0.0.1", resolve)
  })
  const address = server.address() as { readonly port: number }
  const close = () =>
    new Promise<void>((resolve) => {
      const late = setTimeout(() => server.closeAllConnections(), closeMs)
      server.close(() => {
        clearTimeout(late)
        resolve()
      })
      server.closeIdleConnections()
    })
  return { url: `http://127.0.0.1:${address.port}`, close }
}

async function answer(handlers: WorkerHandlers, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController()
  outgoing.on("close", () => gone.abort())
  const response = await responseTo(handlers, incoming, gone.signal)
  const headers = [...response.headers].filter(([name]) => name !== "set-cookie")
  for (const cookie of response.headers.getSetCookie()) headers.push(["set-cookie", cookie])
  if (response.statusText !== "") outgoing.statusMessage = response.statusText
  outgoing.writeHead(response.status, headers.flat())
  if (response.body === null) outgoing.end()
  else await pipeline(Readable.fromWeb(response.body), outgoing)
}

async function responseTo(handlers: WorkerHandlers, incoming: IncomingMessage, signal: AbortSignal): Promise<Response> {
  let request: Request
  try {
    request = requestOf(incoming, signal)
  } catch (error) {
    return new Response(`this request cannot be passed on: ${String(error)}\n`, { status: 400 })
  }
  const { pathname, searchParams } = new URL(request.url)
  if (pathname !== scheduledPath) return handlers.fetch(request)
  if (!isOfThisMachine(incoming)) return new Response("only programs of this machine may call the scheduled handler\n", { status: 403 })
  if (!handlers.has("scheduled")) return new Response("this Worker has no scheduled handler\n", { status: 404 })
  const time = Number(searchParams.get("time") ?? Date.now())
  if (!Number.isFinite(time)) return new Response("time has to be milliseconds since 1970\n", { status: 400 })
  const isDone = await handlers.scheduled(searchParams.get("cron") ?? "", time)
  return new Response(isDone ? "ok\n" : "exception\n", { status: isDone ? 200 : 500 })
}

/** Whether no web page of another site makes the request. A browser says so, and a page that gives its own name this address is found by the name. */
function isOfThisMachine({ headers }: IncomingMessage): boolean {
  const host = URL.parse(`http://${headers.host ?? "localhost"}`)?.hostname ?? ""
  return ["127.0.0.1", "localhost"].includes(host) && !["cross-site", "same-site"].includes(String(headers["sec-fetch-site"]))
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", url = "/", rawHeaders } = incoming
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2) headers.append(rawHeaders[index] ?? "", rawHeaders[index + 1] ?? "")
  const hasBody = method !== "GET" && method !== "HEAD"
  const body = hasBody ? (Readable.toWeb(incoming) as globalThis.ReadableStream) : null
  const request = new Request(new URL(url, `http://${incoming.headers.host ?? "localhost"}`), { method, headers, body, duplex: "half", signal })
  // Workers read properties of `cf` without asking whether it is there.
  return Object.defineProperty(request, "cf", { value: {}, enumerable: true })
}

function taken(port: number, cause: Error): CommandError {
  return new CommandError(
    "ADDRESS_IN_USE",
    exitCodes.failed,
    `port ${port} is in use; stop the program that listens there, or choose another port for the Worker with --worker-port`,
    { cause },
  )
}
