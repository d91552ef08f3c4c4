// Serves the two workflows over HTTP, with a few instances to look at, and shows what happens. Everything is in a SQLite file: stop it in the
// middle, with Ctrl-C or kill -9, and the next start goes on.
//
//   npm start                                    on http://127.0.0.1:8787
//   PORT=9000 npm start                          elsewhere
//   HOST=0.0.0.0 TOKEN=… npm start               for other machines, which have to send the token: 16 random characters or more
//   node server.ts --database /tmp/example.db    keeps its data elsewhere

import { mkdirSync } from "node:fs"
import { dirname, relative } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { type Engine, Perdure, PerdureError } from "perdure"
import { type HttpServer, serve } from "perdure/http"
import { sqlite } from "perdure/sqlite"
import { openView } from "./terminal-view.ts"
import { order, test } from "./workflows.ts"

const shownMax = 4
const redrawMs = 200

const { values } = parseArgs({ options: { database: { type: "string" } } })
const database = values.database ?? fileURLToPath(new URL(".perdure/server.db", import.meta.url))
const { PORT, HOST = "127.0.0.1", TOKEN } = process.env

async function main(): Promise<void> {
  mkdirSync(dirname(database), { recursive: true })
  const engine = await Perdure.open({ store: sqlite(database), workflows: [test, order] })
  try {
    const server = await serve(engine, {
      host: HOST,
      ...(PORT === undefined ? undefined : { port: portOf(PORT) }),
      ...(TOKEN === undefined ? undefined : { token: TOKEN }),
    })
    try {
      await startSome(engine)
      greet(server)
      await show(engine)
    } finally {
      await server.close()
    }
    console.log("\n  Stopped. Nothing is lost: the next `npm start` goes on from here.\n")
  } finally {
    await engine.close()
  }
}

function portOf(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  throw new PerdureError("BAD_OPTION", `PORT is ${JSON.stringify(text)}; give a number from 0 to 65535`)
}

/** So that there is something to see. */
async function startSome(engine: Engine): Promise<void> {
  const { test: tests = 0, order: orders = 0 } = await engine.count({ idPrefix: "hello-" }, "workflow")
  const number = Math.max(tests, orders) + 1
  await engine.start(test, { id: `hello-test-${number}`, input: { name: "you" }, ifExists: "return" })
  await engine.start(order, { id: `hello-order-${number}`, input: { items: ["lamp", "chair"] }, ifExists: "return" })
}

function greet({ url }: HttpServer): void {
  const token = TOKEN === undefined ? "" : ` -H "Authorization: Bearer $TOKEN"`
  const curl = (path: string, body?: object) => `    curl -s${token} '${url}${path}'${body === undefined ? "" : ` -d '${JSON.stringify(body)}'`}`
  console.log(`
  Perdure is running at ${url}
  Everything it knows is in ${relative(process.cwd(), database)}

  Try, in another terminal:

${curl("/workflows", { type: "test", id: "test-1", payload: { name: "World" } })}
${curl("/workflows/test-1")}
${curl("/workflows/test-1/events/approval", { approved: true })}
${curl("/workflows/test-1/result?wait=30s")}
${curl("/workflows?type=order")}
    curl -sN${token} '${url}/stream'

  Ctrl-C stops it.
`)
}

/** The newest instances, until somebody wants to stop. */
async function show(engine: Engine): Promise<void> {
  const view = openView(process.stdout, process.env)
  const stop = new AbortController()
  const interrupt = () => {
    if (stop.signal.aborted) process.exit(130)
    stop.abort()
  }
  process.on("SIGINT", interrupt).on("SIGTERM", interrupt)
  try {
    while (!stop.signal.aborted) {
      const { instances } = await engine.list({ limit: shownMax })
      const described = await Promise.all(instances.map(({ id }) => engine.describe(id).catch(() => undefined)))
      view.show(
        described.flatMap((instance) => (instance ? [instance] : [])),
        "",
      )
      await delay(redrawMs, undefined, { signal: stop.signal }).catch(() => undefined)
    }
  } finally {
    view.close()
  }
}

try {
  await main()
} catch (error) {
  if (!PerdureError.is(error)) throw error
  console.error(`\n  ${error.message}\n`)
  process.exitCode = 1
}
