// Commands on a server: access, responses, and a server that is away for a while.

import { createServer } from "node:net"
import { join } from "node:path"
import { Perdure } from "perdure"
import { serve } from "perdure/http"
import { sqlite } from "perdure/sqlite"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { CliBed, token } from "./cli-bed.ts"
import { CommandProcess, environment } from "./command-process.ts"
import { shop } from "./shop.ts"

let bed: CliBed

beforeAll(async () => {
  bed = await CliBed.open("server")
  await bed.engine.start("order", { id: "order-1", input: { n: 1 } })
})

afterAll(() => bed.close())

/** A port without a listener. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

describe("a server", () => {
  it.each([
    ["no token", {}],
    ["a wrong token", { PERDURE_TOKEN: "wrong" }],
  ])("lets nobody in with %s", async (_, env) => {
    const answer = await bed.perdure(["list", "--url", bed.url], { env: { PERDURE_TOKEN: "", ...env } })
    expect(answer).toMatchObject({ code: 4, stdout: "" })
    expect(answer.stderr).toMatch(/^error UNAUTHORIZED: .*; set PERDURE_TOKEN, or give --token\n$/)
  })

  it("takes the token of a profile", async () => {
    bed.file("perdure.config.json", JSON.stringify({ profiles: { shop: { url: bed.url, tokenEnv: "PERDURE_SHOP" } } }))
    expect((await bed.perdure(["list", "--profile", "shop"], { env: { PERDURE_SHOP: token } })).stdout).toContain("order-1")
    expect((await bed.perdure(["list", "--profile", "shop"])).code).toBe(4)
  })

  it("that is not there is named, soon", async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const answer = await bed.perdure(["list", "--url", url])
    expect(answer).toMatchObject({ code: 4, stdout: "" })
    expect(answer.stderr).toMatch(new RegExp(`^error UNREACHABLE: ${url} cannot be reached: `))
    expect((await bed.perdure(["tail", "--url", url])).code).toBe(4)
  })

  it("that is something else is not mistaken for one", async () => {
    const { createServer: createHttpServer } = await import("node:http")
    const other = createHttpServer((_, response) => response.end("<html>hello</html>"))
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve))
    const { port } = other.address() as { port: number }
    const answer = await bed.perdure(["list", "--url", `http://127.0.0.1:${port}`])
    other.close()
    expect(answer).toMatchObject({ code: 4, stdout: "" })
  })
})

describe("a process", () => {
  const env = () => environment(bed, { PERDURE_URL: bed.url, PERDURE_TOKEN: token })

  it("ends as soon as it has its answer", async () => {
    const { code, stdout } = await CommandProcess.perdure(bed, env(), "show", "order-1").answer
    expect(code).toBe(0)
    expect(stdout).toMatch(/^order-1 {2}order@1 {2}waiting/)
  })

  it("follows a server over a restart, and misses nothing", async () => {
    const store = join(bed.folder, "restarted.db")
    const port = await freePort()
    const open = async () => {
      const engine = await Perdure.open({ store: sqlite(store, { durability: "process" }), workflows: shop })
      return { engine, server: await serve(engine, { port }) }
    }
    const first = await open()
    await first.engine.start("order", { id: "o", input: { n: 1 } })
    const tail = CommandProcess.perdure(bed, environment(bed, { PERDURE_URL: `http://127.0.0.1:${port}` }), "tail", "o", "--until-end", "--json")
    await tail.printed(/workflow\.started/)
    await first.server.close()
    await first.engine.close()
    const second = await open()
    await second.engine.get("o").sendEvent("payment", { amount: 1 })
    const { code, stdout } = await tail.answer
    await second.server.close()
    await second.engine.close()
    expect(code).toBe(0)
    const types = stdout
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { type: string }).type)
    expect(types).toEqual([
      "workflow.started",
      "step.started",
      "step.started",
      "step.completed",
      "step.completed",
      "event.received",
      "event.consumed",
      "workflow.completed",
    ])
  })

  it("that follows is left with Ctrl-C", async () => {
    const tail = CommandProcess.perdure(bed, env(), "tail", "order-1")
    await tail.printed(/workflow\.started/)
    tail.kill("SIGINT")
    const { code, stderr } = await tail.answer
    expect(code).toBe(130)
    expect(stderr).toMatch(/^\ngo on with --since \S+\n$/)
  })
})
