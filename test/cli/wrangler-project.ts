import { rmSync } from "node:fs"
import { join } from "node:path"
import { type CliProcess, ProjectBed } from "./project-bed.ts"

/** The settings of the Worker below, with others in their place. */
export function wranglerFile(more: Record<string, unknown> = {}): string {
  const settings = {
    name: "shop",
    main: "src/index.ts",
    compatibility_date: "2026-09-01",
    workflows: [{ binding: "CHECKOUT", name: "checkout", class_name: "Checkout" }],
    vars: { SHOP: "corner" },
    ...more,
  }
  return `// A comment, which JSON does not allow.\n${JSON.stringify(settings, null, 2)}\n`
}

/** The module of a Worker as Cloudflare's documentation writes it: types are imported without the word \`type\`, and files without an extension. */
export const workerModule = (step = "charge", more = "") => `
  import { WorkflowEntrypoint, WorkflowEvent, WorkflowStep, env } from "cloudflare:workers"
  import { NonRetryableError } from "cloudflare:workflows"
  import { receipt } from "./receipt"

  const shop = env.SHOP

  export class Checkout extends WorkflowEntrypoint<Env, { cart: string }> {
    async run(event: WorkflowEvent<{ cart: string }>, step: WorkflowStep) {
      if (event.payload.cart === "") throw new NonRetryableError("the cart is empty")
      const charged = await step.do("${step}", async () => receipt(shop, this.env.SHOP, event.payload.cart))
      const { payload } = await step.waitForEvent("approval", { type: "approval" })
      return charged + " " + payload.by
    }
  }
  ${more}`

/** Handlers that create instances, send events, and answer with a status. */
export const handlers = `
  export default {
    async fetch(request, env, ctx) {
      const [, id, event] = new URL(request.url).pathname.split("/")
      if (event !== undefined) {
        await (await env.CHECKOUT.get(id)).sendEvent({ type: event, payload: await request.json() })
        return new Response(null, { status: 204 })
      }
      if (request.method !== "POST") return Response.json(await (await env.CHECKOUT.get(id)).status())
      const instance = await env.CHECKOUT.create({ id, params: await request.json() })
      ctx.waitUntil(Promise.resolve().then(() => console.log("created " + instance.id)))
      return Response.json({ id: instance.id }, { status: 201 })
    },
    async scheduled(controller, env, ctx) {
      if (controller.cron === "bad") throw new Error("no such cron")
      console.log("scheduled " + controller.cron + " at " + controller.scheduledTime + " for " + env.SHOP)
    },
  }`

/** A project that was written for wrangler. */
export class WranglerProject extends ProjectBed {
  constructor(settings: Record<string, unknown> = {}, module: string = workerModule("charge", handlers)) {
    super()
    this.write("wrangler.jsonc", wranglerFile(settings))
    this.write("src/receipt.ts", 'export const receipt = (...words: string[]) => words.join(" ")')
    this.write("src/index.ts", module)
  }

  dev(...args: readonly string[]): CliProcess {
    return this.start(["dev", "--wrangler", "wrangler.jsonc", "--port", "0", "--worker-port", "0", ...args])
  }

  /** Starts dev, and gives the address of the Worker too. */
  async developing(...args: readonly string[]): Promise<{ readonly dev: CliProcess; readonly worker: string; readonly api: string }> {
    const dev = this.dev(...args)
    const [, worker = ""] = await dev.said("stdout", /Worker {4}(\S+)/)
    const [, api = ""] = /HTTP API {2}(\S+)/.exec(dev.stdout) ?? []
    return { dev, worker, api }
  }

  remove(name: string): void {
    rmSync(join(this.folder, name))
  }
}

export async function post(url: string, body: unknown): Promise<Response> {
  return fetch(url, { method: "POST", body: JSON.stringify(body) })
}
