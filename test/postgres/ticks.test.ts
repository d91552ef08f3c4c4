// An engine that executes in ticks, on a server. The process of a tick dies with an instance, and its lease ends some time later.

import { setTimeout as delay } from "node:timers/promises"
import { type Engine, Perdure, workflow } from "perdure"
import { postgres } from "perdure/postgres"
import { afterAll, expect, it } from "vitest"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"

const database = new TestDatabase(20)
afterAll(() => database.drop())

it("a cron of ticks continues an instance of a tick that died, once the lease of that tick has ended", async () => {
  const store = () => postgres({ ...database.options, schema, maxConnections: 5 })
  const schema = database.newSchema()
  let attempts = 0
  const job = workflow("job", (ctx) => ctx.do("work", () => (++attempts === 1 ? new Promise<string>(() => undefined) : "done")))
  const open = () => Perdure.open({ store: store(), workflows: [job], log: silentLogger, execute: "ticks", lease: "1s" })

  const dying = await open()
  await dying.start(job, { id: "a" })
  void dying.tick().catch(() => undefined)
  while (attempts === 0) await delay(10)
  ;(dying as Engine & { kill(): void }).kill()

  await using engine = await open()
  // A dispatcher that goes by these answers alone.
  for (let next = await engine.tick(); next.nextDueAt !== undefined; next = await engine.tick()) await delay(Math.max(50, next.nextDueAt - Date.now()))
  expect(await engine.get("a").status()).toBe("completed")
  expect(attempts).toBe(2)
}, 20_000)
