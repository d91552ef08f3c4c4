import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, describe, expect, it } from "vitest"
import { ProjectBed } from "./project-bed.ts"

let project: ProjectBed
afterEach(() => project.close())

const read = (name: string) => readFileSync(join(project.folder, name), "utf8")

describe("perdure init", () => {
  it("makes a project, and says how to go on", async () => {
    project = new ProjectBed()
    const { code, stdout } = await project.call("init", "My Shop")
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^made package.json, workflows.ts, tsconfig.json, README.md, .gitignore in .*My Shop\n\nnext:\n {2}cd My Shop\n {2}npm install\n {2}npm run dev\n$/,
    )
    const manifest = JSON.parse(read("My Shop/package.json")) as { name: string; dependencies: Record<string, string>; scripts: Record<string, string> }
    expect(manifest.name).toBe("my-shop")
    expect(manifest.scripts).toMatchObject({ dev: "perdure dev", start: "perdure worker", check: "perdure check" })
    expect(Object.keys(manifest.dependencies)).toEqual(["@hono/node-server", "hono", "perdure"])
    expect(read("My Shop/.gitignore")).toContain("node_modules")
  })

  it("overwrites nothing", async () => {
    project = new ProjectBed()
    mkdirSync(join(project.folder, "shop"))
    writeFileSync(join(project.folder, "shop/workflows.ts"), "mine")
    expect(await project.call("init", "shop")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("has workflows.ts already, and nothing was written") as string,
    })
    expect(read("shop/workflows.ts")).toBe("mine")
    expect(existsSync(join(project.folder, "shop/package.json"))).toBe(false)
    expect((await project.call("init")).code).toBe(1)
  })

  it("its workflow runs", async () => {
    project = new ProjectBed()
    await project.call("init", "shop")
    // The package as it is when installed, but from the sources.
    const library = new URL("../../src/index.ts", import.meta.url)
    writeFileSync(join(project.folder, "shop/workflows.ts"), read("shop/workflows.ts").replace('"perdure"', JSON.stringify(library.href)))
    symlinkSync(fileURLToPath(new URL("../../node_modules", import.meta.url)), join(project.folder, "shop/node_modules"))
    const worker = project.start(["worker", "shop/workflows.ts"])
    await worker.said("stdout", /^executing greet@1/)
    const client = await project.engine([], "client")
    const handle = await client.start("greet", { id: "ada", version: "1", input: { name: "Ada" } })
    await handle.sendEvent("reply", "Hi")
    expect(await handle.result({ timeout: "20s" })).toEqual({ greeting: "Hello, Ada!", reply: "Hi" })
    await worker.said("stdout", /Hello, Ada! They said: Hi/)
    await client.close()
  })
})
