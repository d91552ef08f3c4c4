// A message that is pushed with its notification is on disk when its sender is answered: it survives a kill of the server.

import { setTimeout as delay } from "node:timers/promises"
import { Client } from "pg"
import { type Engine, Perdure, workflow } from "perdure"
import { postgres } from "perdure/postgres"
import { afterAll, beforeAll, expect, it, vi } from "vitest"
import { ListenConnection } from "../../../src/stores/postgres/notifications/listen-connection.ts"
import { PostgresServer } from "../../../tools/postgres/server.ts"

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
}, 60_000)
afterAll(() => server.stop(), 60_000)

const listener = workflow("listener", async (ctx) => ctx.waitForEvent("go"))

async function query(sql: string, url = server.url): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

/** An engine that starts instances and sends events to them, and the delivering statements that it sent over the connection that listens. */
async function sender(url: string): Promise<{ readonly engine: Engine; readonly texts: () => readonly string[] }> {
  const asked = vi.spyOn(ListenConnection.prototype, "query").mockClear()
  const engine = await Perdure.open({ store: postgres({ connectionString: url }), workflows: [listener], role: "client" })
  // The connection that listens has to be verified first, and no other message may have been pushed a moment ago.
  await delay(200)
  return { engine, texts: () => asked.mock.calls.map(([, text]) => text).filter((text) => text.includes("deliver")) }
}

it.each(["once", "twice"] as const)(
  "a pushed message that was sent %s survives a kill of the server, also where no background process writes the log",
  async (times) => {
    const { engine, texts } = await sender(server.url)
    const { id } = await engine.start(listener, { id: `sent-${times}` })
    const [writer] = await query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
    const pid = Number(writer?.["pid"])
    process.kill(pid, "SIGSTOP")
    try {
      await engine.get(id).sendEvent("go", 1, { eventId: "e" })
      if (times === "twice") {
        await delay(40)
        await engine.get(id).sendEvent("go", 1, { eventId: "e" })
      }
    } finally {
      const killed = server.kill()
      process.kill(pid, "SIGKILL")
      await killed
    }
    expect(texts()).toEqual(Array.from({ length: times === "once" ? 1 : 2 }, () => expect.stringContaining("deliver_and_notify") as string))
    await engine.close().catch(() => undefined)
    await server.resume()
    expect(await query(`SELECT m.event_id FROM perdure.inbox m JOIN perdure.instance i ON i.key = m.instance WHERE i.id = '${id}'`)).toEqual([
      { event_id: "e" },
    ])
  },
  60_000,
)
