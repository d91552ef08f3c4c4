// examples/cloudflare-worker as wrangler bundles it, in a real workerd.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Miniflare } from "miniflare"
import { afterAll, beforeAll, expect, it } from "vitest"
import { acceptTest, becomes, call } from "../http-acceptance.ts"
import { dryRun, runWorker } from "./example-worker.ts"

let folder: string
let built: { readonly output: string; readonly script: string }
const running: Miniflare[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "perdure-example-"))
  built = await dryRun()
}, 180_000)

afterAll(async () => {
  for (const miniflare of running) await miniflare.dispose()
  await rm(folder, { recursive: true, force: true })
})

async function serve(storage: string, vars?: Record<string, string>): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const miniflare = await runWorker(built.script, join(folder, storage), vars)
  running.push(miniflare)
  const stop = async () => {
    running.splice(running.indexOf(miniflare), 1)
    await miniflare.dispose()
  }
  return { url: (await miniflare.ready).origin, stop }
}

it("deploys, as far as that can be tried without deploying, with one binding", () => {
  expect(built.output).toMatch(/env\.WORKFLOW_RUNNER \(WorkflowRunner\)\s+Durable Object/)
  expect(built.output).toContain("--dry-run: exiting now")
})

it("a workflow is started, sleeps, waits, is approved, completes and is listed, all over HTTP", async () => {
  const { url, stop } = await serve("whole")
  await acceptTest(url)
  await stop()
})

it("a second start on the same storage goes on with what the first one left", async () => {
  const first = await serve("again")
  await call(first.url, "/workflows", { type: "order", id: "mine", payload: { items: ["lamp"] } })
  await becomes(first.url, "/workflows/mine", "waiting", 30_000)
  await first.stop()
  const { url, stop } = await serve("again")
  expect(await call(url, "/workflows/mine")).toMatchObject([200, { status: "waiting", run: 1 }])
  await call(url, "/workflows/mine/events/payment", { amount: 129 })
  expect(await becomes(url, "/workflows/mine", "completed", 30_000)).toMatchObject({ result: { status: "shipped", paid: 129 } })
  await stop()
})

it("with a token as a secret, whoever does not send it is refused", async () => {
  const { url, stop } = await serve("guarded", { API_TOKEN: "a-secret" })
  expect((await call(url, "/workflows"))[0]).toBe(401)
  const allowed = await fetch(`${url}/workflows?type=test`, { headers: { authorization: "Bearer a-secret" } })
  expect([allowed.status, await allowed.json()]).toMatchObject([200, { instances: [] }])
  await stop()
})
