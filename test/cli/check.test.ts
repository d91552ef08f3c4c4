import { existsSync, readFileSync, statSync } from "node:fs"
import { pathToFileURL } from "node:url"
import type { AnyWorkflow } from "perdure"
import { serve } from "perdure/http"
import { afterEach, describe, expect, it } from "vitest"
import { laterPerdure, ProjectBed } from "./project-bed.ts"
import { lend, lendModule, shelf } from "./shelf.ts"

let project: ProjectBed
afterEach(() => project.close())

/** Makes a database with waiting instances. */
async function withInstances(count: number): Promise<void> {
  project = new ProjectBed()
  const engine = await project.engine(shelf)
  await engine.startBatch(Array.from({ length: count }, (_, i) => ({ workflow: lend, id: `book-${i}`, input: { book: `b${i}` } })))
  await expect.poll(() => engine.count({}, "status")).toEqual({ waiting: count })
  await engine.close()
}

const jsonOf = (stdout: string) =>
  JSON.parse(stdout) as { checked: number; problems: { instance: string; kind: string; step?: string; expected?: string; found?: string }[] }

describe("perdure check", () => {
  it("exits with 0 where all fits, and with 1 where something would stall, which it names; it writes nothing", async () => {
    await withInstances(2)
    project.module("workflows.ts", lendModule())
    const before = readFileSync(project.db)
    expect(await project.run(["check"])).toEqual({ code: 0, stdout: `2 instances fit (./workflows.ts against ${project.db})\n`, stderr: "" })
    project.module("workflows.ts", lendModule("get"))
    const { code, stdout } = await project.run(["check"])
    expect(code).toBe(1)
    expect(stdout.split("\n").toSorted().slice(1)).toEqual([
      expect.stringMatching(/^2 of 2 instances would not go on/),
      'stalls book-0 (lend@1): the journal has step "fetch" at position 2, but the code asks for step "get"',
      'stalls book-1 (lend@1): the journal has step "fetch" at position 2, but the code asks for step "get"',
    ])
    expect(readFileSync(project.db).equals(before)).toBe(true)
  })

  it("prints a document with --json, and takes a workflow's name or the beginning of ids", async () => {
    await withInstances(3)
    project.module("workflows.ts", lendModule("get"))
    const all = await project.run(["check", "--json"])
    expect(jsonOf(all.stdout)).toMatchObject({
      checked: 3,
      problems: [{ kind: "stalls", step: "fetch", expected: 'step "fetch"', found: 'asks for step "get"' }, {}, {}],
    })
    const one = await project.run(["check", "--json", "--id-prefix", "book-1"])
    expect(jsonOf(one.stdout)).toMatchObject({ checked: 1, problems: [{ instance: "book-1" }] })
    expect(jsonOf((await project.run(["check", "--json", "--workflow", "other"])).stdout)).toEqual({ checked: 0, problems: [], stillStalled: [], cured: [] })
  })

  it("names versions that nobody offers any more", async () => {
    await withInstances(1)
    project.module("workflows.ts", `export const a = workflow("lend", { version: "2" }, async () => 1)`)
    const { code, stdout } = await project.run(["check"])
    expect(code).toBe(1)
    expect(stdout).toContain('no version book-0 (lend@1): there is no version "1" of workflow "lend" any more; there is "2"')
  })

  it("checks what was exported, without a database", async () => {
    await withInstances(2)
    expect((await project.call("export", "--all", "--out", "all.jsonl")).code).toBe(0)
    project.module("workflows.ts", lendModule("get"))
    const { code, stdout } = await project.run(["check", "--export", "all.jsonl", "--db", "nowhere.db"])
    expect(code).toBe(1)
    expect(stdout).toContain("2 of 2 instances would not go on (./workflows.ts against all.jsonl)")
    expect(existsSync(`${project.folder}/nowhere.db`)).toBe(false)
  })

  it("asks a server for the journals, with their values as they are", async () => {
    project = new ProjectBed()
    const code = (step: string) => `export const rich = workflow("rich", async (ctx, input: Date) => {
      const at = await ctx.do("${step}", () => new Map([[input.getTime(), undefined]]))
      const none = await ctx.waitForEvent("none")
      if (none !== undefined || !(at instanceof Map)) throw new Error("not as it was")
      await ctx.sleep("nap", "1d")
    })`
    project.module("workflows.ts", code("note"))
    const { rich } = (await import(pathToFileURL(project.module("here.ts", code("note"))).href)) as { rich: AnyWorkflow }
    const engine = await project.engine([rich])
    await engine.start("rich", { id: "r", input: new Date(0) })
    await engine.get("r").sendEvent("none")
    await expect.poll(() => engine.get("r").status()).toBe("sleeping")
    const server = await serve(engine, { port: 0 })
    const fits = await project.run(["check", "workflows.ts", "--url", server.url])
    project.module("workflows.ts", code("remark"))
    const other = await project.run(["check", "workflows.ts", "--url", server.url])
    await server.close()
    await engine.close()
    expect(fits).toEqual({ code: 0, stdout: `1 instance fits (./workflows.ts against ${server.url})\n`, stderr: "" })
    expect(other.stdout).toContain('stalls r (rich@1): the journal has step "note" at position 2, but the code asks for step "remark"')
  })

  it("works on a migrated copy where the database is older, and leaves it as it is", async () => {
    await withInstances(1)
    project.module("workflows.ts", lendModule("get"))
    const modified = statSync(project.db).mtimeMs
    const { code, stderr, stdout } = await project.run(["check"], laterPerdure)
    expect(stderr).toMatch(/the database has schema version 1, and this perdure has 2: a copy is migrated and checked/)
    expect(stdout).toContain("stalls book-0")
    expect(code).toBe(1)
    expect(statSync(project.db).mtimeMs).toBe(modified)
  })

  it("runs code that fails in the background, and goes on", async () => {
    await withInstances(3)
    project.module(
      "workflows.ts",
      `export const lend = workflow("lend", async (ctx, input: { book: string }) => {
        void Promise.reject(new Error("nobody handles this"))
        const shelf = await ctx.do("fetch", () => 1)
        await ctx.waitForEvent("returned")
        return shelf
      })
      setInterval(() => undefined, 1_000)`,
    )
    expect(await project.run(["check"])).toMatchObject({ code: 0, stderr: "" })
  })

  it("is quick enough for many instances, and needs little memory", async () => {
    const count = process.env["LONG"] === "1" ? 10_000 : 2_000
    await withInstances(count)
    project.module("workflows.ts", `${lendModule("get")}\nprocess.on("exit", () => console.error("memory " + process.resourceUsage().maxRSS))`)
    const startedAt = performance.now()
    const { code, stdout, stderr } = await project.run(["check", "--json"])
    expect(code).toBe(1)
    expect(jsonOf(stdout)).toMatchObject({ checked: count })
    expect(performance.now() - startedAt).toBeLessThan(30_000)
    expect(Number(/memory (\d+)/.exec(stderr)?.[1])).toBeLessThan(400 * 1024)
  })
})
