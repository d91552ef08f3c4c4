// examples/cloudflare-to-node: one program for Cloudflare Workflows, on three hosts.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { openWorkflows } from "perdure/cloudflare-workflows"
import { sqlite } from "perdure/sqlite"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Checkout, Parcel, type Order } from "../../examples/cloudflare-to-node/checkout.ts"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import type { StoreProvider } from "../../src/ports/store.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"
import { runWorker } from "../worker/example-worker.ts"

/** The program on one host. */
interface Running {
  create(id: string, params: Order): Promise<unknown>
  send(id: string, type: string, payload: unknown): Promise<unknown>
  status(id: string): Promise<{ readonly status: string }>
  ledger(): Promise<readonly string[]>
  close(): Promise<unknown>
}

const root = fileURLToPath(new URL("../../", import.meta.url))
const database = new TestDatabase(20)
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "perdure-checkout-"))
})

afterAll(async () => {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

async function onNode(store: StoreProvider): Promise<Running> {
  const ledger: string[] = []
  const { env, engine } = await openWorkflows({ store, workflows: { CHECKOUT: Checkout, PARCEL: Parcel }, env: { LEDGER: ledger }, log: silentLogger })
  return {
    create: (id, params) => env.CHECKOUT.create({ id, params }),
    send: async (id, type, payload) => (await env.CHECKOUT.get(id)).sendEvent({ type, payload }),
    status: async (id) => (await env.CHECKOUT.get(id)).status(),
    ledger: async () => ledger,
    close: () => engine.close(),
  }
}

async function inObjects(): Promise<Running> {
  const source = (name: string) => join(root, "src", `${name}.ts`)
  const { outputFiles } = await build({
    entryPoints: [join(root, "examples/cloudflare-to-node/worker.ts")],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    external: ["node:*", "cloudflare:*"],
    alias: { "perdure/cloudflare-workflows": source("cloudflare-workflows-worker"), "perdure/cloudflare": source("cloudflare"), perdure: source("workerd") },
  })
  const miniflare = await runWorker(outputFiles[0]?.text ?? "", join(folder, "objects"))
  const { origin } = await miniflare.ready
  const call = async (path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${origin}/${path}`, body === undefined ? {} : { method: "POST", body: JSON.stringify(body) })
    if (!response.ok) throw new Error(await response.text())
    return response.json()
  }
  return {
    create: (id, params) => call(id, params),
    send: (id, type, payload) => call(`${id}/${type}`, payload),
    status: (id) => call(id) as Promise<{ readonly status: string }>,
    ledger: () => call("ledger") as Promise<readonly string[]>,
    close: () => miniflare.dispose(),
  }
}

const hosts: Record<string, () => Promise<Running>> = {
  SQLite: () => onNode(sqlite(join(folder, "checkout.db"))),
  PostgreSQL: async () => onNode(database.ownStore(await database.emptySchema())),
  "Durable Objects": inObjects,
}

describe.each(Object.entries(hosts))("the checkout on %s", (_, open) => {
  let running: Running
  beforeAll(async () => {
    running = await open()
  })
  afterAll(async () => running.close())

  async function becomes(id: string, wanted: string): Promise<unknown> {
    for (let tries = 0; tries < 600; tries++) {
      const status = await running.status(id)
      if (status.status === wanted) return status
      await delay(50)
    }
    throw new Error(`${id} is ${JSON.stringify(await running.status(id))}`)
  }
  const linesOf = async (id: string) => (await running.ledger()).filter((line) => line.includes(`${id}: `))

  it("charges at the second attempt, waits for the approval, and hands the parcel over", async () => {
    await running.create("c-1", { cart: "lamp", amount: 40 })
    await becomes("c-1", "waiting")
    await running.send("c-1", "approval", { approved: true, by: "Ada" })
    expect(await becomes("c-1", "complete")).toMatchObject({ output: { receipt: "receipt-2", approvedBy: "Ada", parcel: "parcel-c-1" } })
    while ((await linesOf("parcel-c-1")).length === 0) await delay(50)
    expect(await linesOf("c-1")).toEqual(["c-1: reserved lamp", "c-1: charged 40", "parcel-c-1: sent lamp"])
  })

  it("undoes what was done if the approval is refused, newest first", async () => {
    await running.create("c-2", { cart: "chair", amount: 50 })
    await becomes("c-2", "waiting")
    await running.send("c-2", "approval", { approved: false, by: "Grace" })
    expect(await becomes("c-2", "errored")).toMatchObject({ error: { name: "Error", message: "Grace said no" }, rollback: { outcome: "complete" } })
    expect(await linesOf("c-2")).toEqual(["c-2: reserved chair", "c-2: charged 50", "c-2: refunded receipt-2", "c-2: released chair"])
  })

  it("does not try a declined card again, and undoes the charge that failed, too", async () => {
    await running.create("c-3", { cart: "house", amount: 100_000 })
    expect(await becomes("c-3", "errored")).toMatchObject({ error: { name: "NonRetryableError", message: "the card is declined" } })
    expect(await linesOf("c-3")).toEqual(["c-3: reserved house", "c-3: refunded nothing", "c-3: released house"])
  })
})
