// A message of which others hear before it is on disk is there when its sender is answered, whatever happens to the server then.

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

/** An engine that starts instances and sends to them, and what it has sent over the connection that listens. */
async function sender(url: string): Promise<{ readonly engine: Engine; readonly texts: () => readonly string[] }> {
  const asked = vi.spyOn(ListenConnection.prototype, "query").mockClear()
  const engine = await Perdure.open({ store: postgres({ connectionString: url }), workflows: [listener], role: "client" })
  // Until it has heard itself, and longer than after another message.
  await delay(200)
  return { engine, texts: () => asked.mock.calls.map(([, text]) => text).filter((text) => text.includes("deliver")) }
}

it.each(["once", "twice"] as const)(
  "a message that was sent %s outlives the server, also where nothing but its sender waits for the disk",
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
    expect(texts()).toEqual(Array.from({ length: times === "once" ? 1 : 2 }, () => expect.stringContaining("CALL") as string))
    await engine.close().catch(() => undefined)
    await server.resume()
    expect(await query(`SELECT m.event_id FROM perdure.inbox m JOIN perdure.instance i ON i.key = m.instance WHERE i.id = '${id}'`)).toEqual([
      { event_id: "e" },
    ])
  },
  60_000,
)

it("who may not write a word into the log sends as always", async () => {
  const url = new URL(server.url)
  const signature = "pg_logical_emit_message(boolean, text, text"
  const [newer] = await query("SELECT current_setting('server_version_num')::int >= 170000 AS takes_more")
  const fn = `${signature}${newer?.["takes_more"] === true ? ", boolean" : ""})`
  await query(`CREATE ROLE plain LOGIN PASSWORD 'plain'; GRANT ALL ON DATABASE postgres TO plain; REVOKE EXECUTE ON FUNCTION ${fn} FROM PUBLIC`)
  try {
    url.username = "plain"
    url.password = "plain"
    const store = postgres({ connectionString: url.href, schema: "plain" })
    const asked = vi.spyOn(ListenConnection.prototype, "query").mockClear()
    const engine = await Perdure.open({ store, workflows: [listener] })
    await delay(200)
    const handle = await engine.start(listener, { id: "plain" })
    const client = await Perdure.open({
      store: postgres({ connectionString: url.href, schema: "plain" }),
      workflows: [listener],
      role: "client",
    })
    await delay(200)
    await client.get("plain").sendEvent("go", 2)
    expect(await handle.result()).toBe(2)
    const texts = asked.mock.calls.map(([, text]) => text).filter((text) => text.includes("deliver"))
    expect(texts).toEqual([expect.stringContaining("SELECT set_config")])
    await client.close()
    await engine.close()
  } finally {
    await query(`GRANT EXECUTE ON FUNCTION ${fn} TO PUBLIC`)
  }
}, 60_000)
