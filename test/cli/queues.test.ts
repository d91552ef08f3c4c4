// Task queues on the command line: `perdure worker --queue` as a real process on a file and before a server, and what shows its activities.

import { type Context, type Engine, workflow } from "perdure"
import { type HttpServer, serve } from "perdure/http"
import { afterEach, describe, expect, it } from "vitest"
import { ProjectBed } from "./project-bed.ts"

const order = workflow("order", (ctx: Context, items: readonly string[]) => ctx.activity("reserve", { input: items, taskQueue: "warehouse" }))
const library = new URL("../../src/index.ts", import.meta.url).href
const activities = `import { defineActivity } from ${JSON.stringify(library)}
export const reserve = defineActivity("reserve", async (items) => ({ reserved: items.length }))
export default { activities: [reserve, defineActivity("pack", () => "packed")] }`

let project = new ProjectBed()
let engine: Engine | undefined
let server: HttpServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
  await engine?.close()
  engine = undefined
  await project.close()
  project = new ProjectBed()
})

async function begin(): Promise<Engine> {
  engine = await project.engine([order])
  project.write("activities.ts", activities)
  await engine.start(order, { id: "o", input: ["lamp", "chair"] })
  await expect.poll(() => engine?.get("o").status()).toBe("waiting")
  return engine
}

describe("perdure worker --queue", () => {
  it("runs the activities of a module on the file of a program, while others show where they are", async () => {
    const program = await begin()
    expect((await project.call("queues")).stdout).toMatch(/^QUEUE +WAITING +RUNNING +OLDEST +WORKERS\nwarehouse +1 +0 +\S.* nobody serves it\n$/)
    expect((await project.call("why", "o")).stdout).toContain('activity "reserve" waits on queue "warehouse", which nobody serves')
    const worker = project.start(["worker", "activities.ts", "--queue", "warehouse"])
    await worker.said("stdout", /^running activities reserve, pack of .\/activities.ts on .\/perdure.db, queue warehouse\n/)
    expect(await program.get("o").result({ timeout: "20s" })).toEqual({ reserved: 2 })
    expect(await project.json("queues")).toMatchObject([{ queue: "warehouse", waiting: 0, claimed: 0, workers: [{ activities: ["reserve", "pack"] }] }])
    expect((await project.call("show", "o")).stdout).toMatch(/^reserve on warehouse +█/m)
    expect((await project.call("tail", "o", "--until-end")).stdout).toMatch(/step\.started +reserve {2}on warehouse\n/)
    expect((await project.call("history", "o")).stdout).toMatch(/step\.started.*activity.*warehouse/)
    worker.signal("SIGTERM")
    expect(await worker.ended).toBe(0)
    expect(worker.stderr).toMatch(/stopping: .*\nstopped\n$/)
    await expect.poll(() => program.queues()).toEqual([])
    expect((await project.call("queues")).stdout).toBe("no activities in task queues, and no workers of activities\n")
  })

  it("runs the activities of a module for a server", async () => {
    server = await serve(await begin(), { port: 0, token: "let-me-in" })
    const where = ["--url", server.url, "--token", "let-me-in"]
    const worker = project.start(["worker", "activities.ts", "--queue", "warehouse", ...where])
    await worker.said("stdout", /^running activities reserve, pack of .\/activities.ts for http:\S+, queue warehouse\n/)
    expect(await engine?.get("o").result({ timeout: "20s" })).toEqual({ reserved: 2 })
    expect((await project.call("queues", ...where)).stdout).toMatch(/^warehouse +0 +0 +worker-\d+ \(reserve, pack\)$/m)
    worker.signal("SIGINT")
    expect(await worker.ended).toBe(0)
    expect(worker.stderr).toMatch(/stopping: .*\nstopped\n$/)
  })

  it("says what is missing, and ends when the server refuses it", async () => {
    server = await serve(await begin(), { port: 0, token: "let-me-in" })
    project.module("workflows.ts", `export const one = workflow("one", async () => 1)`)
    const run = async (...args: string[]) => project.run(["worker", ...args, "--url", server?.url ?? ""])
    expect(await run("workflows.ts", "--queue", "warehouse")).toMatchObject({ code: 2, stderr: expect.stringContaining("error NO_ACTIVITIES") as string })
    expect(await run("activities.ts", "--queue", "a", "--queue", "b")).toMatchObject({ code: 2, stderr: expect.stringContaining("one --queue") as string })
    expect(await run("activities.ts")).toMatchObject({ code: 2, stderr: expect.stringContaining("give --db") as string })
    expect(await run("activities.ts", "--queue", "a", "--token", "wrong")).toMatchObject({ code: 4, stderr: expect.stringContaining("UNAUTHORIZED") as string })
    expect(await project.run(["worker", "activities.ts"])).toMatchObject({ code: 2, stderr: expect.stringContaining("NO_WORKFLOWS") as string })
  })
})

describe("perdure worker", () => {
  it("runs the activities of its module where its workflows run, and those of other programs", async () => {
    project.write(
      "workflows.ts",
      `import { defineActivity, workflow } from ${JSON.stringify(library)}
export const pack = defineActivity("pack", (item) => "packed " + item)
export const ship = workflow("ship", (ctx, item) => ctx.activity(pack, { input: item }))`,
    )
    const worker = project.start(["worker"])
    await worker.said("stdout", /^executing ship@1, running activity pack of .\/workflows.ts on .\/perdure.db\n/)
    engine = await project.engine([], "client")
    const handle = await engine.start("ship", { input: "lamp", version: "1" })
    expect(await handle.result({ timeout: "20s" })).toBe("packed lamp")
    expect(await engine.queues()).toMatchObject([{ queue: "default", workers: [{ activities: ["pack"] }] }])
    worker.signal("SIGTERM")
    expect(await worker.ended).toBe(0)
  })
})
