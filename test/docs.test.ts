// The documentation is true: every ts block stands on its own, compiles, and runs where that is possible here, the examples of the journal format are what the codec writes, every
// error code and entry type is explained, and no link is dead.

import { execFile } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { entryTypes } from "../src/core/journal/journal.ts"
import { decodeRow, encodeEntries } from "../src/core/journal/turn-codec.ts"

const root = fileURLToPath(new URL("../", import.meta.url))
const pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", ...below("docs"), ...below("examples")]
const read = (path: string) => readFileSync(join(root, path), "utf8")

function below(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md") && !path.includes("node_modules"))
    .map((path) => `${folder}/${path}`)
    .sort()
}

interface Snippet {
  readonly place: string
  readonly file: string
  /** "run", or why not. */
  readonly marker: string
  readonly code: string
}

const snippets = pages.flatMap((page) =>
  [...read(page).matchAll(/^```ts([^\n]*)\n(.*?)^```/gms)].map((match): Snippet => {
    const line = read(page).slice(0, match.index).split("\n").length
    const code = match[2] ?? ""
    return { place: `${page}:${line}`, file: `${page.replace(/\W/g, "-")}-${line}.ts`, marker: match[1]?.trim() ?? "", code }
  }),
)

let folder: string

/** A project whose package "perdure" is our sources. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-docs-"))
  const modules = join(folder, "node_modules")
  mkdirSync(join(modules, "perdure"), { recursive: true })
  symlinkSync(join(root, "src"), join(modules, "perdure/src"))
  for (const name of ["@types", "@hono", "hono", "zod"]) symlinkSync(join(root, "node_modules", name), join(modules, name))
  const entries = ["client", "cloudflare", "http", "postgres", "sqlite", "testing"].map((name) => [`./${name}`, `./src/${name}.ts`] as const)
  const exports = { ".": "./src/index.ts", ...Object.fromEntries(entries) }
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

  // Side by side: each is a process of its own, which mostly starts up.
  it.concurrent.each(snippets.filter(({ marker }) => marker === "run"))(
    "$place runs in an empty folder, and prints something",
    async ({ file }) => {
      const own = mkdtempSync(join(folder, "run-"))
      expect(await run(own, process.execPath, join(folder, file))).not.toBe("")
    },
    60_000,
  )
})

describe("the journal format", () => {
  const page = read("docs/journal-format.md")
  const examples = page.split("\n").filter((line) => /^\[?\{"type":/.test(line))

  it("shows every type of entry", () => {
    expect(entryTypes.filter((type) => !examples.some((line) => line.startsWith(`{"type":"${type}"`)))).toEqual([])
    expect(entryTypes.filter((type) => !page.includes(`| \`${type}\` |`))).toEqual([])
  })

  it.each(examples)("shows what is written: %s", (line) => {
    const entries = line.startsWith("[") ? line : `[${line}]`
    const recorded = decodeRow({ position: 1, run: 1, at: 0, entries })
    expect(encodeEntries(recorded.map(({ entry }) => entry)).text).toBe(entries)
  })
})

it("every error code is explained", () => {
  const union = /export type ErrorCode =\n((?: +\| "[A-Z_]+"\n)+)/.exec(read("src/core/errors.ts"))?.[1] ?? ""
  const codes = [...union.matchAll(/"([A-Z_]+)"/g)].map((match) => match[1] ?? "")
  const explained = [...read("docs/guides/errors.md").matchAll(/^\| `([A-Z_]+)` \|/gm)].map((match) => match[1] ?? "")
  expect(codes.length).toBeGreaterThan(30)
  expect(explained.toSorted()).toEqual(codes.toSorted())
})

it("links and files that the documentation names exist", () => {
  const dead = pages.flatMap((page) => {
    const text = read(page)
    const links = [...text.matchAll(/\]\(([^)#\s]+)(#[^)]*)?\)/g)].map((match) => join(dirname(page), match[1] ?? "")).filter((path) => !path.includes(":"))
    const named = [...text.matchAll(/`((?:src|test|tools|examples|docs)\/[\w./-]+)`/g)]
      .map((match) => match[1] ?? "")
      .filter((path) => !path.startsWith("test/journals/<"))
    return [...links, ...named].filter((path) => !existsSync(join(root, path))).map((path) => `${page}: ${path}`)
  })
  expect(dead).toEqual([])
})
