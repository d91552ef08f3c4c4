// `perdure dev --wrangler` as a real process, on projects that were written for wrangler.

import { request } from "node:http"
import { afterEach, describe, expect, it } from "vitest"
import { post, workerModule, WranglerProject, wranglerFile } from "./wrangler-project.ts"

let project: WranglerProject
afterEach(() => project.close())

describe("perdure dev --wrangler", () => {
  it("executes the workflows of the file, and serves the Worker's fetch beside the HTTP API", async () => {
    project = new WranglerProject({ workflows: [{ binding: "CHECKOUT", name: "checkout", class_name: "Checkout", schedules: "0 6 * * 2" }] })
    project.write(".dev.vars", "TOKEN=secret")
    const { dev, worker, api } = await project.developing()
    expect(dev.stdout).toMatch(/^ready checkout@1 of .\/wrangler.jsonc\n {2}database {2}.\/perdure.db\n/)
    await dev.said("stdout", /env {7}CHECKOUT {2}workflow checkout \(Checkout\)\n {2}env {7}SHOP {6}var\n {2}env {7}TOKEN {5}var\n/)
    expect(dev.stdout).not.toContain("secret")

    const created = await post(`${worker}/c-1`, { cart: "lamp" })
    expect([created.status, await created.json()]).toEqual([201, { id: "c-1" }])
    await dev.said("stdout", /created c-1/)
    const status = async () => ((await (await fetch(`${worker}/c-1`)).json()) as { status: string }).status
    await expect.poll(status).toBe("waiting")
    expect(await (await fetch(`${api}/workflows/checkout:c-1`)).json()).toMatchObject({ type: "checkout", status: "waiting" })
    expect((await post(`${worker}/c-1/approval`, { by: "Ada" })).status).toBe(204)
    await expect.poll(status).toBe("complete")
    expect(await (await fetch(`${worker}/c-1`)).json()).toMatchObject({ status: "complete", output: "corner corner lamp Ada" })

    // Monday is the second day of the week at Cloudflare.
    const schedules = await project.json<{ schedules: { times: string }[] }>("schedules", "list")
    expect(JSON.stringify(schedules)).toContain("0 6 * * 1")
    dev.signal("SIGINT")
    expect(await dev.ended).toBe(0)
  })

  it("goes on with the new code after an edit, and after a change of the settings", async () => {
    project = new WranglerProject()
    const { dev, worker } = await project.developing()
    await post(`${worker}/c-1`, { cart: "lamp" })
    await expect.poll(async () => (await project.json<{ status: string }>("show", "checkout:c-1")).status).toBe("waiting")
    project.write("src/receipt.ts", 'export const receipt = (...words: string[]) => `new ${words.join(" ")}`')
    await dev.said("stdout", /changed .\/src\/receipt.ts\nreloaded checkout@1/)
    project.write("wrangler.jsonc", wranglerFile({ vars: { SHOP: "station" } }))
    await dev.said("stdout", /changed .\/wrangler.jsonc\nreloaded checkout@1/)
    await project.call("send", "checkout:c-1", "approval", '{"by":"Ada"}')
    // The step was done by the old code, and is not done again.
    await expect.poll(async () => (await project.call("result", "checkout:c-1")).stdout).toBe('"corner corner lamp Ada"\n')
    const again = await project.json<{ id: string }>("start", "checkout", '{"cart":"chair"}', "--id", "c-2")
    await project.call("send", again.id, "approval", '{"by":"Bob"}')
    await expect.poll(async () => (await project.call("result", "c-2")).stdout).toBe('"new station station chair Bob"\n')
    const said = dev.stdout.length
    project.write("wrangler.jsonc", '{ "main": }')
    await dev.said("stdout", /not started BAD_WRANGLER_JSON: .\/wrangler.jsonc:1:11 is no JSON: a value should be here/, said)
    project.write("wrangler.jsonc", wranglerFile())
    await dev.said("stdout", /reloaded checkout@1/, said)
  })

  it("goes on with an instance after dev was killed", async () => {
    project = new WranglerProject()
    const first = await project.developing()
    await post(`${first.worker}/c-1`, { cart: "lamp" })
    await expect.poll(async () => (await project.json<{ status: string }>("show", "checkout:c-1")).status).toBe("waiting")
    first.dev.signal("SIGKILL")
    await first.dev.ended
    const { dev, worker } = await project.developing()
    expect((await post(`${worker}/c-1/approval`, { by: "Ada" })).status).toBe(204)
    await expect.poll(async () => (await fetch(`${worker}/c-1`)).json()).toMatchObject({ status: "complete", output: "corner corner lamp Ada" })
    dev.signal("SIGTERM")
    expect(await dev.ended).toBe(0)
  })

  it("calls the scheduled handler at its times, and on request", async () => {
    // A field for seconds, which Cloudflare does not have, spares the test a minute.
    project = new WranglerProject({ triggers: { crons: ["* * * * * *", "0 0 1 1 *"] } })
    const { dev, worker } = await project.developing()
    expect(dev.stdout).toMatch(/cron {6}\* \* \* \* \* \* {2}next \d{4}-\d\d-\d\dT\d\d:\d\dZ\n {2}cron {6}0 0 1 1 \* {2}next \d{4}-01-01T00:00Z\n/)
    const [, first = ""] = await dev.said("stdout", /scheduled \* \* \* \* \* \* at (\d+)000 for corner/)
    const [, second = ""] = await dev.said("stdout", new RegExp(`scheduled \\* \\* \\* \\* \\* \\* at ((?!${first}000)\\d+)000 for corner`))
    expect(Number(second)).toBeGreaterThan(Number(first))
    const called = await fetch(`${worker}/cdn-cgi/handler/scheduled?cron=0+*+*+*+*&time=1700000000000`)
    expect([called.status, await called.text()]).toEqual([200, "ok\n"])
    await dev.said("stdout", /scheduled 0 \* \* \* \* at 1700000000000 for corner/)
    expect((await fetch(`${worker}/cdn-cgi/handler/scheduled?cron=bad`)).status).toBe(500)
    const ofPage = await fetch(`${worker}/cdn-cgi/handler/scheduled?cron=page`, { headers: { "sec-fetch-site": "cross-site" } })
    expect(ofPage.status).toBe(403)
    await dev.said("stderr", /scheduled failed: bad.*no such cron/)
  })

  it("runs classes that extend WorkerEntrypoint, streams bodies, and answers with what fetch throws", async () => {
    const entrypoint = `
      import { WorkerEntrypoint } from "cloudflare:workers"
      export default class extends WorkerEntrypoint {
        async fetch(request) {
          const { pathname } = new URL(request.url)
          if (pathname === "/throw") throw new RangeError("too far")
          if (pathname === "/nothing") return
          if (pathname === "/env") return new Response(this.env.SHOP, { headers: [["set-cookie", "a=1"], ["set-cookie", "b=2"]] })
          return new Response(request.body, { status: 201, statusText: "Echoed", headers: { "x-method": request.method } })
        }
      }`
    project = new WranglerProject({}, workerModule("charge", entrypoint))
    const { dev, worker } = await project.developing("--no-api")
    expect(dev.stdout).not.toContain("HTTP API")
    const env = await fetch(`${worker}/env`)
    expect([await env.text(), env.headers.getSetCookie()]).toEqual(["corner", ["a=1", "b=2"]])
    const body = "x".repeat(3_000_000)
    const echoed = await fetch(`${worker}/echo`, { method: "PUT", body })
    expect([echoed.status, echoed.statusText, echoed.headers.get("x-method"), (await echoed.text()) === body]).toEqual([201, "Echoed", "PUT", true])
    expect(await (await fetch(`${worker}/throw`)).text()).toBe("RangeError: too far\n")
    await dev.said("stderr", /fetch failed: GET \/throw.*too far\n.*src\/index\.ts/)
    expect((await fetch(`${worker}/nothing`)).status).toBe(500)
    const trace = await new Promise<number | undefined>((resolve, reject) =>
      request(worker, { method: "TRACE" }, (response) => resolve(response.resume().statusCode))
        .once("error", reject)
        .end(),
    )
    expect(trace).toBe(400)
  })
})

describe("the env of perdure dev --wrangler", () => {
  it("is there while modules are loaded, with workflows that can be used later, and in process.env", async () => {
    const early = `
      const { CHECKOUT: checkout, TEXT: text, OTHER: other } = env
      const fromProcess = process.env.TEXT
      export default {
        async fetch(request) {
          if (new URL(request.url).pathname === "/other") return new Response(await other.create())
          return new Response([text, fromProcess, process.env.DEEP, (await checkout.create({ id: "c-1", params: { cart: "lamp" } })).id].join())
        }
      }`
    project = new WranglerProject(
      {
        compatibility_flags: ["nodejs_compat"],
        vars: { SHOP: "corner", TEXT: "hello", DEEP: { n: 1 } },
        workflows: [
          { binding: "CHECKOUT", name: "checkout", class_name: "Checkout" },
          { binding: "OTHER", name: "bill", class_name: "Bill", script_name: "billing" },
        ],
      },
      workerModule("charge", early),
    )
    const { dev, worker } = await project.developing()
    expect(dev.stdout).toMatch(/OTHER {5}workflow bill \(Bill of billing\), not here: its first use throws/)
    expect(await (await fetch(worker)).text()).toBe("hello,hello,,c-1")
    expect(await (await fetch(`${worker}/other`)).text()).toMatch(/NO_BINDING: env\.OTHER is the workflow "bill" of another Worker, "billing"/)
  })

  it("modules may be imported as wrangler's bundler takes them", async () => {
    const imports = `
      import { createRequire } from "node:module"
      import plain from "./data/plain.json"
      import attributed from "./data/attributed.json" with { type: "json" }
      import note from "./data/note.txt"
      import { one } from "./parts"
      import { two } from "./parts/two.js"
      const required = createRequire(import.meta.url)("./data/plain.json")
      export default { fetch: () => new Response([plain.n, attributed.n, required.n, note, one, two].join()) }`
    project = new WranglerProject({}, workerModule("charge", imports))
    project.write("src/data/plain.json", '{ "n": 1 }')
    project.write("src/data/attributed.json", '{ "n": 2 }')
    project.write("src/data/note.txt", "read me")
    project.write("src/parts/index.ts", 'export const one: string = "one"')
    project.write("src/parts/two.ts", 'export const two: string = "two"')
    const { worker } = await project.developing()
    expect(await (await fetch(worker)).text()).toBe("1,2,1,read me,one,two")
  })

  it("has workflows that cannot be used while modules are loaded", async () => {
    project = new WranglerProject({}, workerModule("charge", 'await env.CHECKOUT.create({ id: "c-1" })'))
    await project.dev().said("stdout", /not started NOT_LOADED: .*NO_BINDING: env\.CHECKOUT can be used as soon as the Worker runs/)
  })
})

describe("perdure dev --wrangler refuses", () => {
  it.each([
    [
      "a class that the module does not export",
      { workflows: [{ binding: "A", name: "a", class_name: "Other" }] },
      /not started NO_CLASS: .\/src\/index.ts does not export the class "Other"/,
    ],
    [
      "a class that is no workflow",
      { workflows: [{ binding: "A", name: "a", class_name: "Plain" }] },
      /not started NOT_A_WORKFLOW: "Plain" of .\/src\/index.ts/,
    ],
    ["a Worker without workflows", { workflows: [] }, /not started NO_WORKFLOWS: .\/wrangler.jsonc names no workflow/],
    ["an impossible cron", { triggers: { crons: ["0 0 31 2 *"] } }, /not started BAD_SCHEDULE: cron "0 0 31 2 \*"/],
  ])("%s", async (_, settings, message) => {
    project = new WranglerProject(settings, workerModule("charge", "export class Plain { run() {} }"))
    const dev = project.dev()
    await dev.said("stdout", message)
    project.write("wrangler.jsonc", wranglerFile())
    await dev.said("stdout", /reloaded checkout@1/)
  })

  it.each([
    ["a type that is imported without the word type", 'import { Cart } from "./cart"'],
    ["an enum", "enum Key { A }"],
  ])("%s, without esbuild, which it advises to install", async (_, code) => {
    project = new WranglerProject({}, workerModule("charge", code))
    project.write("src/cart.ts", "export interface Cart {}")
    await project.dev().said("stdout", /not started NOT_LOADED: [^\n]*; npm install --save-dev esbuild, and it loads as in wrangler/)
  })

  it("what is wrong in the file, at once", async () => {
    project = new WranglerProject()
    const refused = async (...args: readonly string[]) => {
      const { code, stderr } = await project.call("dev", ...args)
      return [code, stderr]
    }
    expect(await refused("--wrangler", "none.jsonc")).toEqual([2, expect.stringMatching(/error NO_WRANGLER_FILE/)])
    expect(await refused("--wrangler", "wrangler.jsonc", "--env", "staging")).toEqual([2, expect.stringMatching(/error NO_ENVIRONMENT: .*it has none/)])
    expect(await refused("--wrangler", "wrangler.jsonc", "src/index.ts")).toEqual([2, expect.stringMatching(/either a module or --wrangler/)])
    expect(await refused("--worker-port", "1")).toEqual([2, expect.stringMatching(/--worker-port belongs to --wrangler/)])
    project.write("wrangler.jsonc", '{\n  "main": "src/index.ts",\n  oops\n}')
    expect(await refused("--wrangler", "wrangler.jsonc")).toEqual([2, expect.stringMatching(/error BAD_WRANGLER_JSON: .\/wrangler.jsonc:3:3 is no JSON/)])
  })
})
