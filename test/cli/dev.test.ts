// `perdure dev` and `perdure worker` as real processes, with edited files and pressed keys.

import { execFileSync } from "node:child_process"
import { existsSync, rmSync } from "node:fs"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { type CliProcess, ProjectBed } from "./project-bed.ts"

let project: ProjectBed
afterEach(() => project.close())

const nap = (result: string, step = "greet") => `
  export const nap = workflow("nap", async (ctx) => {
    await ctx.do(${JSON.stringify(step)}, () => 1)
    await ctx.waitForEvent("wake")
    return ${JSON.stringify(result)}
  })`

/** The child processes of a process. */
async function childrenOf(process: CliProcess): Promise<readonly number[]> {
  const { readFileSync } = await import("node:fs")
  const text = readFileSync(`/proc/${process.child.pid}/task/${process.child.pid}/children`, "utf8").trim()
  return text === "" ? [] : text.split(" ").map(Number)
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function developing(code: string, ...args: readonly string[]): Promise<CliProcess> {
  project = new ProjectBed()
  project.module("workflows.ts", code)
  const dev = project.start(["dev", ...args])
  await dev.said("stdout", /ready nap@1 of .\/workflows.ts/)
  return dev
}

describe("perdure dev", () => {
  it("goes on with the new code when a file is edited; Ctrl-C ends it, and leaves no process behind", async () => {
    const dev = await developing(nap("old"), "--no-api")
    const client = await project.engine([], "client")
    await client.start("nap", { id: "i", version: "1" })
    await expect.poll(() => client.get("i").status()).toBe("waiting")
    project.module("workflows.ts", nap("new"))
    await dev.said("stdout", /changed .\/workflows.ts\nreloaded nap@1/)
    await client.get("i").sendEvent("wake")
    expect(await client.get("i").result({ timeout: "20s" })).toBe("new")
    await client.close()
    const children = await childrenOf(dev)
    expect(children).toHaveLength(1)
    dev.signal("SIGINT")
    expect(await dev.ended).toBe(0)
    expect(children.some(isAlive)).toBe(false)
  })

  it("is what other calls in the project talk to, until it ends", async () => {
    const counting = `export const nap = workflow("nap", async (ctx) => {
      ctx.setQueryHandler("mood", () => "asleep")
      await ctx.waitForEvent("wake")
    })`
    const dev = await developing(counting, "--port", "0")
    const [, url] = await dev.said("stdout", /HTTP API {2}(\S+)/)
    expect(await project.call("start", "nap", "--id", "i")).toMatchObject({ code: 0 })
    // Only a server has the code that answers the query.
    expect(await project.call("query", "i", "mood")).toMatchObject({ code: 0, stdout: '"asleep"\n' })
    expect((await project.call("query", "i", "mood", "--db", "perdure.db")).stderr).toContain("NO_WORKER")
    expect((await project.call("doctor")).stdout).toMatch(new RegExp(`^ok {3}server: ${url} \\(perdure dev\\) is ready$`, "m"))
    expect((await project.call("backup", "copy.db")).code).toBe(0)
    dev.signal("SIGINT")
    await dev.ended
    expect(existsSync(join(project.folder, ".perdure"))).toBe(false)
    expect((await project.call("query", "i", "mood")).stderr).toContain("NO_WORKER")
  })

  it("says at once what an edit would stall, and when it does", async () => {
    const dev = await developing(nap("old"), "--no-api")
    const client = await project.engine([], "client")
    await client.start("nap", { id: "i", version: "1" })
    await expect.poll(() => client.get("i").status()).toBe("waiting")
    project.module("workflows.ts", nap("new", "salute"))
    await dev.said("stderr", /warning instance "i" will stall when it goes on: the journal has step "greet" at position 2, but the code asks for step "salute"/)
    await client.get("i").sendEvent("wake")
    await dev.said("stderr", /warning instance "i" is stalled: the journal has step "greet" at position 2/)
    await expect.poll(() => client.get("i").status()).toBe("stalled")
    project.module("workflows.ts", nap("mended"))
    await dev.said("stdout", /reloaded nap@1[^]*reloaded nap@1/)
    await client.get("i").resume()
    expect(await client.get("i").result({ timeout: "20s" })).toBe("mended")
    await client.close()
  })

  it("waits where an edit cannot be loaded, says where, and goes on with the next one", async () => {
    const dev = await developing(nap("old"), "--no-api")
    project.write("steps/index.ts", "export const a = (1")
    project.module("workflows.ts", `import "./steps/index.ts"\n${nap("new")}`)
    await dev.said("stdout", /not started NOT_LOADED: .\/workflows.ts could not be loaded: .\/steps\/index.ts:1: SyntaxError.*\nwaiting for a change/)
    project.write("steps/index.ts", "export const a = 1")
    await dev.said("stdout", /changed .\/steps\/index.ts\nreloaded nap@1/)
    rmSync(`${project.folder}/workflows.ts`)
    await dev.said("stdout", /Cannot find module/)
    dev.signal("SIGTERM")
    expect(await dev.ended).toBe(0)
  })

  it("serves the HTTP API, also after a reload, and starts again when its process is killed", async () => {
    const dev = await developing(nap("old"), "--port", "0")
    const url = async (from: number) => (await dev.said("stdout", /HTTP API {2}(http:\/\/127\.0\.0\.1:\d+)/, from))[1] ?? ""
    const answer = await fetch(`${await url(0)}/workflows`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: `{"type":"nap","id":"h"}`,
    })
    expect(answer.status).toBe(201)
    // A process that dies sooner than this is not started again.
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    const [child = 0] = await childrenOf(dev)
    process.kill(child, "SIGKILL")
    await dev.said("stdout", /ended by itself \(SIGKILL\); starting again\nreloaded nap@1/)
    const client = await project.engine([], "client")
    await client.get("h").sendEvent("wake")
    expect(await client.get("h").result({ timeout: "20s" })).toBe("old")
    await client.close()
  })

  it("ends with an error when its database file is deleted: to go on would begin with an empty one", async () => {
    const dev = await developing(nap("old"), "--no-api")
    rmSync(project.db)
    expect(await dev.ended).toBe(4)
    expect(dev.stderr).toMatch(/error DATABASE_GONE.*perdure\.db" was deleted or renamed while it was open/)
  })

  it("a process that is left alone by the one that watches ends by itself", async () => {
    const dev = await developing(nap("old"), "--no-api")
    const [child = 0] = await childrenOf(dev)
    dev.signal("SIGKILL")
    await dev.ended
    await expect.poll(() => isAlive(child), { timeout: 10_000 }).toBe(false)
  })
})

describe("perdure worker", () => {
  it("says what it serves, executes, and gives everything back when it is told to stop", async () => {
    project = new ProjectBed()
    project.module("workflows.ts", nap("done"))
    const worker = project.start(["worker"])
    await worker.said("stdout", /^executing nap@1 of .\/workflows.ts on .\/perdure.db\n/)
    const client = await project.engine([], "client")
    await client.start("nap", { id: "i", version: "1" })
    await expect.poll(() => client.get("i").status()).toBe("waiting")
    const second = project.start(["worker", "--json"])
    expect(JSON.parse((await second.said("stdout", /^.*\n/))[0])).toMatchObject({ serving: ["nap@1"], role: "client" })
    worker.signal("SIGTERM")
    expect(await worker.ended).toBe(0)
    expect(worker.stderr).toMatch(/stopping: steps under way may finish.*\nstopped\n$/)
    await second.said("stderr", /this process executes the workflows of this store now/)
    await client.get("i").sendEvent("wake")
    expect(await client.get("i").result({ timeout: "20s" })).toBe("done")
    await client.close()
    second.signal("SIGINT")
    expect(await second.ended).toBe(0)
  })

  it("ends by itself, and says so, when its database file is deleted", async () => {
    project = new ProjectBed()
    project.module("workflows.ts", nap("done"))
    const worker = project.start(["worker"])
    await worker.said("stdout", /^executing/)
    rmSync(project.db)
    expect(await worker.ended).toBe(4)
    expect(worker.stderr).toMatch(/error DATABASE_GONE.*perdure\.db" was deleted or renamed while it was open/)
  })

  it("ends also when another file is written over its database file, and clients who wait for a result are told", async () => {
    project = new ProjectBed()
    project.module("workflows.ts", nap("done"))
    const worker = project.start(["worker"])
    await worker.said("stdout", /^executing/)
    const client = await project.engine([], "client")
    const result = (await client.start("nap", { id: "i", version: "1" })).result().catch((error: unknown) => error)
    await expect.poll(() => client.get("i").status()).toBe("waiting")
    // Another process copies the file: closing the file in this process would drop the locks that SQLite holds on it.
    execFileSync("cp", [join(project.folder, "workflows.ts"), project.db])
    expect(await worker.ended).toBe(4)
    expect(worker.stderr).toMatch(/error DATABASE_GONE.*perdure\.db" was cut off by another program while it was open/)
    expect(await result).toMatchObject({ code: "DATABASE_GONE" })
    await client.close()
  })

  it("refuses a server", async () => {
    project = new ProjectBed()
    project.module("workflows.ts", nap("done"))
    expect(await project.run(["worker", "--url", "http://127.0.0.1:9"])).toMatchObject({ code: 2, stderr: expect.stringContaining("give --db") as string })
  })
})
