// Every ts block of the documentation stands on its own, compiles, and runs where that is possible here.

import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { bundleForNode } from "../tools/build/node-bundle.ts"
import { pages, readPage, root } from "./documentation-pages.ts"

interface Snippet {
  readonly place: string
  readonly file: string
  /** "run", or the reason why a test cannot run the snippet. */
  readonly marker: string
  readonly code: string
}

const snippets = pages.flatMap((page) =>
  [...readPage(page).matchAll(/^```ts([^\n]*)\n(.*?)^```/gms)].map((match): Snippet => {
    const line = readPage(page).slice(0, match.index).split("\n").length
    const code = match[2] ?? ""
    return { place: `${page}:${line}`, file: `${page.replace(/\W/g, "-")}-${line}.ts`, marker: match[1]?.trim() ?? "", code }
  }),
)

let folder: string

/** A project whose package "perdure" has its types from our sources, and its code from the bundle that Node loads: a process starts in a fifth of the time. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "perdure-docs-"))
  const modules = join(folder, "node_modules")
  mkdirSync(join(modules, "perdure"), { recursive: true })
  symlinkSync(join(root, "src"), join(modules, "perdure/src"))
  for (const name of ["@types", "@hono", "hono", "zod"]) symlinkSync(join(root, "node_modules", name), join(modules, name))
  await bundleForNode(join(modules, "perdure/dist"), { sourcemap: false })
  const entry = (name: string) => ({ types: `./src/${name}.ts`, default: `./dist/${name}.js` })
  const entries = ["activities", "client", "cloudflare", "cloudflare-workflows", "http", "postgres", "sqlite", "testing"].map(
    (name) => [`./${name}`, entry(name)] as const,
  )
  const exports = { ".": entry("index"), ...Object.fromEntries(entries) }
  writeFileSync(join(modules, "perdure/package.json"), JSON.stringify({ name: "perdure", type: "module", exports }))
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }))
  const compilerOptions = { noEmit: true, types: ["node"], noUnusedLocals: false, lib: ["ES2023", "ESNext.Disposable"] }
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ extends: join(root, "tsconfig.base.json"), compilerOptions, include: ["*.ts", join(root, "src/cloudflare/platform/*.d.ts")] }),
  )
  for (const { file, code } of snippets) writeFileSync(join(folder, file), code)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function run(cwd: string, command: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { cwd, timeout: 60_000 }).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`${command} ${args.join(" ")}\n${error.stdout}\n${error.stderr}`)
  })
  return stdout
}

describe("the snippets of the documentation", () => {
  it("compile", async () => {
    expect(snippets.length).toBeGreaterThan(15)
    const tsc = join(root, "node_modules/typescript/bin/tsc")
    expect(await run(folder, process.execPath, tsc, "-p", ".")).toBe("")
  }, 60_000)

  it("declare what they use, so that a reader can copy them", () => {
    expect(snippets.filter(({ code }) => !/^import /m.test(code)).map(({ place }) => place)).toEqual([])
  })

  it("are marked `run`, or `no-run:` with the reason", () => {
    expect(snippets.filter(({ marker }) => !/^(run|no-run: .+)$/.test(marker)).map(({ place }) => place)).toEqual([])
  })

  // Several at a time: each is a process of its own, which spends most of its time starting.
  it.concurrent.each(snippets.filter(({ marker }) => marker === "run"))(
    "$place runs in an empty folder, and prints something",
    async ({ file }) => {
      const own = mkdtempSync(join(folder, "run-"))
      expect(await run(own, process.execPath, join(folder, file))).not.toBe("")
    },
    60_000,
  )
})
