// Activities in another process on the same SQLite file. That process is a client for workflows, and never stands by to execute them.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import { Perdure } from "../../src/index.ts"
import { sqlite } from "../../src/sqlite.ts"
import { ActivityProcess, type ActivityProcessOptions } from "./activity-process.ts"

let folder: string
let client: Awaited<ReturnType<typeof Perdure.open>>
const processes: ActivityProcess[] = []

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "perdure-activities-"))
  client = await Perdure.open({ store: sqlite(join(folder, "app.db")), workflows: [], role: "client", log: silentLogger })
})
afterEach(async () => {
  for (const process of processes.splice(0)) await process.end()
  await client.close()
  rmSync(folder, { recursive: true })
})

const until = (isSo: () => boolean) => vi.waitFor(() => expect(isSo()).toBe(true), { timeout: 20_000, interval: 10 })

async function spawned(runs: ActivityProcessOptions["runs"], workMs = 500): Promise<ActivityProcess> {
  const process = new ActivityProcess({ store: { path: join(folder, "app.db") }, lease: "1s", runs, workMs })
  processes.push(process)
  await until(() => process.reports.some(({ type }) => type === "ready"))
  return process
}

it("the processes of activities and of workflows are killed in turn, and every result is that of the attempt that was recorded last", async () => {
  const worker = await spawned("workflows")
  const first = await spawned("activities", 60_000)
  await client.start("job", { id: "a", input: 3, version: "1", allowUnknown: true })
  await until(() => first.calls.length === 3)
  await new Promise((resolve) => setTimeout(resolve, 600))
  const second = await spawned("activities", 1_500)
  await first.end()
  await until(() => second.calls.length === 3)
  expect(second.calls.map(({ attempt, lastHeartbeat }) => [attempt, lastHeartbeat])).toEqual(
    [1, 2, 3].map(() => [2, { by: 1, passedMs: expect.any(Number) as number }]),
  )
  await worker.end()
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  await spawned("workflows")
  expect(await client.get("a").result({ timeout: "20s" })).toEqual([0, 1, 2].map((part) => ({ part, attempt: 2 })))
  expect(second.calls).toHaveLength(3)
}, 60_000)
