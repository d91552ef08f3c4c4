// Bindings that miniflare supplies to `perdure dev --wrangler`, with the real miniflare.

import { mkdirSync, readFileSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, describe, expect, it } from "vitest"
import { post, WranglerProject } from "./wrangler-project.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const packages = { miniflare: join(root, "test/side-by-side/node_modules/miniflare"), esbuild: join(root, "node_modules/esbuild") }

let project: WranglerProject
afterEach(() => project.close())

/** Links packages of this repository into the project, as if they were installed there. */
function install(...names: readonly (keyof typeof packages)[]): void {
  mkdirSync(join(project.folder, "node_modules"))
  for (const name of names) symlinkSync(packages[name], join(project.folder, "node_modules", name))
}

const settings = {
  kv_namespaces: [{ binding: "CACHE", id: "cache" }],
  d1_databases: [{ binding: "DB", database_name: "shop", database_id: "db" }],
  r2_buckets: [{ binding: "FILES", bucket_name: "files" }],
  durable_objects: { bindings: [{ name: "COUNTER", class_name: "Counter" }] },
  migrations: [{ tag: "v1", new_sqlite_classes: ["Counter"] }],
  queues: { producers: [{ binding: "QUEUE", queue: "orders" }] },
}

/** A Worker whose workflow, fetch and scheduled use bindings. The type is imported without the word \`type\`, which only a compiler can leave out. */
const shop = `
  import { DurableObject, WorkflowEntrypoint, WorkflowEvent, WorkflowStep } from "cloudflare:workers"
  import { Cart } from "./cart"
  enum Key { Charged = "charged" }

  export class Counter extends DurableObject<Env> {
    async add(n: number) {
      const value = ((await this.ctx.storage.get<number>("n")) ?? 0) + n
      await this.ctx.storage.put("n", value)
      return value
    }
    async fetch() { return new Response("the counter of the " + this.env.SHOP + " shop") }
  }

  export class Checkout extends WorkflowEntrypoint<Env, Cart> {
    async run(event: WorkflowEvent<Cart>, step: WorkflowStep) {
      await step.do("note", async () => this.env.CACHE.put(Key.Charged, event.payload.cart))
      const count = await step.do("count", async () => this.env.COUNTER.get(this.env.COUNTER.idFromName("all")).add(2))
      await step.waitForEvent("approval", { type: "approval" })
      return [count, await step.do("read", async () => this.env.CACHE.get(Key.Charged))]
    }
  }

  export default {
    async fetch(request: Request, env: Env) {
      const { pathname } = new URL(request.url)
      if (pathname === "/d1") return Response.json((await env.DB.prepare("select ? + 1 as n").bind(4).all()).results)
      if (pathname === "/r2") {
        await env.FILES.put("a.txt", "kept")
        return new Response(await (await env.FILES.get("a.txt")).text())
      }
      if (pathname === "/counter") return new Response(await (await env.COUNTER.get(env.COUNTER.idFromName("all")).fetch("http://counter/")).text())
      if (pathname === "/queue") return new Response(await env.QUEUE.send("x"))
      if (pathname === "/kv") return new Response(await env.CACHE.get("charged"))
      if (request.method === "POST") return Response.json(await (await env.CHECKOUT.create({ id: pathname.slice(1), params: await request.json() })).status())
      return Response.json(await (await env.CHECKOUT.get(pathname.slice(1))).status())
    },
    async scheduled(controller, env, ctx) { ctx.waitUntil(env.CACHE.put("charged", controller.cron)) },
  }`

function open(): void {
  project = new WranglerProject(settings, shop)
  project.write("src/cart.ts", "export interface Cart { cart: string }")
}

describe("perdure dev --wrangler with miniflare", () => {
  it("gives KV, D1, R2 and Durable Objects to workflows and handlers, also after a restart", async () => {
    open()
    install("miniflare", "esbuild")
    const { dev, worker } = await project.developing()
    await dev.said("stdout", /CACHE {5}KV namespace, of miniflare\n {2}env {7}DB {8}D1 database, of miniflare\n {2}env {7}FILES {5}R2 bucket, of miniflare\n/)
    await dev.said("stdout", /COUNTER {3}Durable Object, of miniflare\n {2}env {7}QUEUE {5}queue, not here: its first use throws\n/)
    await post(`${worker}/c-1`, { cart: "lamp" })
    await expect.poll(async () => (await fetch(`${worker}/c-1`)).json(), { timeout: 10_000 }).toMatchObject({ status: "waiting" })
    expect(await (await fetch(`${worker}/kv`)).text()).toBe("lamp")
    expect(await (await fetch(`${worker}/d1`)).json()).toEqual([{ n: 5 }])
    expect(await (await fetch(`${worker}/r2`)).text()).toBe("kept")
    expect(await (await fetch(`${worker}/counter`)).text()).toBe("the counter of the corner shop")
    const queue = await fetch(`${worker}/queue`)
    expect([queue.status, await queue.text()]).toEqual([500, expect.stringMatching(/NO_BINDING: env\.QUEUE is a binding of the kind "queue"/)])
    dev.signal("SIGINT")
    expect(await dev.ended).toBe(0)

    const again = await project.developing()
    await project.call("send", "checkout:c-1", "approval", "{}")
    await expect.poll(async () => (await fetch(`${again.worker}/c-1`)).json(), { timeout: 10_000 }).toMatchObject({ output: [2, "lamp"] })
    expect((await fetch(`${again.worker}/cdn-cgi/handler/scheduled?cron=now`)).status).toBe(200)
    await expect.poll(async () => (await fetch(`${again.worker}/kv`)).text()).toBe("now")
    again.dev.signal("SIGINT")
    expect(await again.dev.ended).toBe(0)
  })

  it("names the binding at its first use where miniflare or esbuild is missing, and the rest runs", async () => {
    open()
    project.write("src/cart.ts", "export const Cart = undefined")
    project.write("src/index.ts", shop.replace('enum Key { Charged = "charged" }', 'const Key = { Charged: "charged" }'))
    const { dev, worker } = await project.developing()
    expect(dev.stdout).toMatch(/CACHE {5}KV namespace, not here: its first use throws/)
    expect(await (await fetch(`${worker}/kv`)).text()).toMatch(
      /NO_BINDING: env\.CACHE \(KV namespace\) comes from miniflare, .*npm install --save-dev miniflare/,
    )
    await post(`${worker}/c-1`, { cart: "lamp" })
    await dev.said("stderr", /attempt 1 of step "note" of instance "checkout:c-1" failed.*NO_BINDING: env\.CACHE/)
    dev.signal("SIGINT")
    await dev.ended

    install("miniflare")
    const again = await project.developing()
    expect((await fetch(`${again.worker}/kv`)).status).toBe(200)
    expect(await (await fetch(`${again.worker}/counter`)).text()).toMatch(/NO_BINDING: env\.COUNTER \(Durable Object\) needs esbuild beside miniflare/)
    again.dev.signal("SIGINT")
    expect(await again.dev.ended).toBe(0)
  })

  it("leaves no process of miniflare behind when the executing process is killed", async () => {
    open()
    install("miniflare", "esbuild")
    const { dev } = await project.developing()
    const [child = 0] = childrenOf(dev.child.pid)
    const workerd = childrenOf(child).find((pid) => commandOf(pid).includes("workerd\0serve")) ?? 0
    expect(workerd).not.toBe(0)
    process.kill(child, "SIGKILL")
    await dev.said("stdout", /ended by itself \(SIGKILL\)/)
    await expect.poll(() => isAlive(workerd), { timeout: 10_000 }).toBe(false)
  })
})

/** The child processes of a process. */
function childrenOf(pid = 0): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim()
  return text === "" ? [] : text.split(" ").map(Number)
}

function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8")
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
