import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { type Context, workflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { createTestEngine } from "../src/testing/test-engine.ts"
import { afterEach, beforeEach, expect, it } from "vitest"
import { becomeLaterVersion, laterMigration } from "./later-migration.ts"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-older-"))
})
let restoreVersion = () => {}
afterEach(() => {
  restoreVersion()
  rmSync(folder, { recursive: true })
})

const sleeper = workflow("sleeper", async (ctx: Context) => {
  await ctx.do("before", () => 1)
  await ctx.sleep("nap", "1h")
  return ctx.do("after", () => "slept")
})
const waiter = workflow("waiter", async (ctx: Context<{ go: string }>) => ctx.waitForEvent("go"))
const limited = workflow("limited", { concurrency: { key: (input: string) => input, limit: 1 } }, async (ctx: Context, _input: string) => {
  await ctx.sleep("hold", "1h")
  return "had its turn"
})
let isStuck = true
const busy = workflow("busy", async (ctx: Context) => ctx.do("long", () => (isStuck ? new Promise<string>(() => undefined) : "tried again")))

it("what was under way in a database of an older schema continues after a later version of perdure has migrated the database", async () => {
  const path = join(folder, "app.db")
  const store = sqlite(path, { durability: "process" })
  const workflows = [sleeper, waiter, limited, busy]
  isStuck = true
  const before = await createTestEngine({ workflows, store, lease: "1m" })
  await before.start(sleeper, { id: "sleeps", tags: ["t"] })
  await before.start(sleeper, { id: "urgent", priority: 5, delay: "10m" })
  await before.start(waiter, { id: "waits" })
  await before.start(busy, { id: "runs" })
  for (const id of ["has-slot", "parked"]) await before.start(limited, { id, input: "lane" })
  await before.schedules.create("hourly", { workflow: sleeper, every: "1h", input: undefined })
  await before.settle()
  // An event for one that is paused is not read.
  await before.get("waits").pause()
  await before.settle()
  await before.sendEvent("waits", "go", "unread")
  before.current.kill()
  await before.current.components.store.close()
  restoreVersion = becomeLaterVersion()
  isStuck = false
  const after = await createTestEngine({ workflows, store, seed: "after", startAt: before.host.now() + 120_000 })
  await after.get("waits").resume()
  await after.skip("4h")
  const results = await Promise.all(["sleeps", "urgent", "waits", "runs", "has-slot", "parked"].map((id) => after.get(id).result({ timeout: "1m" })))
  expect(results).toEqual(["slept", "slept", "unread", "tried again", "had its turn", "had its turn"])
  expect((await after.list({ tag: "t" })).instances.map(({ id, queue }) => [id, queue])).toEqual([["sleeps", "default"]])
  const ended = new Set<string>()
  for await (const { instance, type } of after.current.changes()) {
    if (type === "workflow.completed") ended.add(instance)
    if (["sleeps", "urgent", "waits", "runs", "has-slot", "parked"].every((id) => ended.has(id))) break
  }
  const scheduled = await after.list({ workflow: "sleeper", idPrefix: "hourly" })
  expect(scheduled.instances.length).toBeGreaterThan(0)
  await after.current.close()
  const database = new DatabaseSync(path)
  expect(database.prepare("SELECT version, compatible FROM perdure_meta").get()).toEqual({
    version: laterMigration.version,
    compatible: laterMigration.compatible,
  })
  expect(database.prepare("SELECT count(*) AS count FROM perdure_mood").get()).toEqual({ count: 0 })
  database.close()
})
