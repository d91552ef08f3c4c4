// `perdure check --wrangler` as a real process.

import { readFileSync } from "node:fs"
import { afterEach, describe, expect, it } from "vitest"
import { handlers, post, workerModule, WranglerProject, wranglerFile } from "./wrangler-project.ts"

let project: WranglerProject
afterEach(() => project.close())

/** Makes a project whose database has a waiting instance. */
async function withInstance(settings: Record<string, unknown> = {}): Promise<void> {
  project = new WranglerProject(settings)
  const { dev, worker } = await project.developing("--no-api")
  await post(`${worker}/c-1`, { cart: "lamp" })
  await expect.poll(async () => (await fetch(`${worker}/c-1`)).json()).toMatchObject({ status: "waiting" })
  dev.signal("SIGINT")
  await dev.ended
}

describe("perdure check --wrangler", () => {
  it("exits with 0 where all fits, and with 1 where a class disagrees with its journals; it writes nothing", async () => {
    await withInstance()
    const before = readFileSync(project.db)
    const check = () => project.run(["check", "--wrangler", "wrangler.jsonc"])
    expect(await check()).toEqual({ code: 0, stdout: `1 instance fits (./wrangler.jsonc against ${project.db})\n`, stderr: "" })
    project.write("src/index.ts", workerModule("take money", handlers))
    expect(await check()).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^stalls checkout:c-1 \(checkout@1\): the journal has .*charge.*, but the code asks for .*take money/) as string,
    })
    project.write("wrangler.jsonc", wranglerFile({ workflows: [{ binding: "CHECKOUT", name: "till", class_name: "Checkout" }] }))
    expect(await check()).toMatchObject({ code: 1, stdout: expect.stringMatching(/^no version checkout:c-1/) as string })
    expect(readFileSync(project.db).equals(before)).toBe(true)
  })

  it("has no bindings, and says so where code uses one outside of a step", async () => {
    const settings = { kv_namespaces: [{ binding: "CACHE", id: "cache" }] }
    await withInstance(settings)
    const inside = workerModule("charge", handlers).replace("async () => receipt", "async () => (await this.env.CACHE.get('a')) ?? receipt")
    project.write("src/index.ts", inside)
    expect(await project.run(["check", "--wrangler", "wrangler.jsonc"])).toMatchObject({ code: 0, stderr: "" })
    project.write("src/index.ts", inside.replace("const { payload }", "await this.env.CACHE.get('a')\n const { payload }"))
    expect(await project.run(["check", "--wrangler", "wrangler.jsonc"])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^stalls checkout:c-1 .*env\.CACHE \(KV namespace\) is used outside of a step; use it inside of step\.do/) as string,
    })
  })

  it("takes an environment of the file, and refuses what is wrong with it", async () => {
    project = new WranglerProject({ env: { staging: { workflows: [{ binding: "CHECKOUT", name: "checkout-staging", class_name: "Checkout" }] } } })
    expect(await project.call("check", "--wrangler", "none.jsonc")).toMatchObject({ code: 2, stderr: expect.stringContaining("NO_WRANGLER_FILE") as string })
    expect(await project.call("check", "--env", "staging")).toMatchObject({ code: 2, stderr: expect.stringContaining("--env belongs to --wrangler") as string })
    expect(await project.run(["check", "--wrangler", ".", "--env", "staging"])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("NO_SERVER") as string,
    })
    project.write("src/index.ts", "export const Checkout = 1")
    expect(await project.run(["check", "--wrangler", "."])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('error NOT_A_WORKFLOW: "Checkout"') as string,
    })
  })
})
