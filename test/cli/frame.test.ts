// The behaviour of all commands: help, errors and exit codes, and the choice of the database or server.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { commandTable } from "../../src/cli/command-table.ts"
import { CliBed } from "./cli-bed.ts"

let bed: CliBed

beforeAll(async () => {
  bed = await CliBed.open()
  await bed.engine.start("order", { id: "order-1", input: { n: 1, paid: true } })
  await bed.engine.get("order-1").result()
})

afterAll(() => bed.close())

describe("help", () => {
  it.each([[[]], [["--help"]], [["help"]], [["-h"]]])("lists the commands: %j", async (args) => {
    const { code, stdout, stderr } = await bed.perdure(args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const listed = [...stdout.matchAll(/^ {2}([a-z]+)(?: \S+)? {2,}\S/gm)].map((match) => match[1])
    expect(listed).toEqual([...commandTable.filter(({ hidden }) => hidden !== true).map(({ name }) => name), "help"])
    expect(stdout).toContain("Exit codes: 0 done")
  })

  it.each(commandTable.filter(({ hidden }) => hidden !== true).map(({ name }) => name))("explains %s, with the options of all commands", async (name) => {
    const { code, stdout } = await bed.perdure([name, "--help"])
    expect(code).toBe(0)
    expect(stdout).toContain(`Usage: perdure ${name}`)
    expect(stdout).toContain("--json")
    expect(await bed.perdure(["help", name])).toMatchObject({ code: 0, stdout })
  })

  it("explains commands of commands", async () => {
    expect((await bed.perdure(["help", "schedules", "create"])).stdout).toContain("Usage: perdure schedules create [options] <id>")
    expect(await bed.perdure(["schedules"])).toMatchObject({ code: 2, stdout: "" })
  })

  it.each([[], ...commandTable.map(({ name }) => [name])])("is no wider than the terminal: %s", async (...names: readonly string[]) => {
    const { stdout } = await bed.perdure([...names, "--help"], { width: 80 })
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80)
  })

  it("is in the guide, too", () => {
    const guide = readFileSync(new URL("../../docs/guides/cli.md", import.meta.url), "utf8")
    const names = commandTable.filter(({ hidden }) => hidden !== true).map(({ name }) => name)
    expect(names.filter((name) => !new RegExp(`[\\s\`]${name}[ \`]`).test(guide))).toEqual([])
  })

  it("is of a version", async () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string }
    expect(await bed.perdure(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" })
  })
})

describe("what is wrong", () => {
  it.each([
    [["lsit"], "error USAGE: unknown command 'lsit'; did you mean list?\n"],
    [["frobnicate"], "error USAGE: unknown command 'frobnicate'; see perdure --help\n"],
    [["help", "lsit"], "error USAGE: unknown command 'lsit'; did you mean list?\n"],
    [["schedules", "crate"], "error USAGE: unknown command 'crate'; did you mean create?\n"],
    [["list", "--statsu", "x"], "error USAGE: unknown option '--statsu'; did you mean --status?\n"],
    [["--bd", "x", "list"], "error USAGE: unknown option '--bd'; did you mean --db?\n"],
    [["list", "--limit"], "error USAGE: option '--limit <n>' argument missing; see perdure list --help\n"],
    [["show"], "error USAGE: missing required argument 'id'; see perdure show --help\n"],
    [["list", "--since", "soon"], 'error USAGE: --since is "soon"; give a time such as 2026-01-31T12:00:00Z, or how long ago, such as 2h\n'],
    [
      ["completion", "tcsh"],
      "error USAGE: command-argument value 'tcsh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish; see perdure completion --help\n",
    ],
  ])("%j is wrong use", async (args, stderr) => {
    expect(await bed.perdure(args)).toEqual({ code: 2, stdout: "", stderr })
  })

  it.each([
    [["start", "order", "--id", "order-1"], "say --if-exists return to get it"],
    [["restart", "order-1", "--from", "nowhere"], "perdure show lists those it has"],
  ])("names ways out as they are on a command line: %j", async (args, way) => {
    expect((await bed.perdure(args)).stderr).toContain(way)
  })

  it("is JSON where JSON is wanted", async () => {
    const { code, stdout, stderr } = await bed.perdure(["show", "nobody", "--json"])
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" })
    expect(JSON.parse(stderr)).toEqual({ error: { code: "NOT_FOUND", message: expect.stringContaining("nobody") as string, details: { instance: "nobody" } } })
    expect(JSON.parse((await bed.perdure(["--json", "lsit"])).stderr)).toMatchObject({ error: { code: "USAGE" } })
  })

  it("has a stack only where somebody debugs", async () => {
    expect((await bed.perdure(["show", "nobody"])).stderr.split("\n")).toHaveLength(2)
    expect((await bed.perdure(["show", "nobody", "--debug"])).stderr).toMatch(/^error NOT_FOUND: .*\nPerdureError: .*\n +at /)
  })

  it("is coloured where colours are forced", async () => {
    expect((await bed.perdure(["show", "nobody"], { env: { FORCE_COLOR: "1" } })).stderr).toContain("\u001b[31merror\u001b[39m \u001b[1mNOT_FOUND\u001b[22m: ")
  })
})

describe("the database", () => {
  it("is found by an option before or after the command, by the environment and by a profile", async () => {
    const cwd = join(bed.folder, "elsewhere")
    mkdirSync(cwd)
    writeFileSync(join(cwd, "perdure.config.json"), JSON.stringify({ profiles: { shop: { db: "../perdure.db" } } }))
    const calls = [
      bed.perdure(["--db", bed.db, "list"], { cwd }),
      bed.perdure(["list", "--db", "../perdure.db"], { cwd }),
      bed.perdure(["list"], { cwd, env: { PERDURE_DB: bed.db } }),
      bed.perdure(["list", "--profile", "shop"], { cwd }),
      bed.perdure(["list"], { cwd, env: { PERDURE_PROFILE: "shop" } }),
    ]
    for (const { code, stdout } of await Promise.all(calls)) {
      expect(code).toBe(0)
      expect(stdout).toContain("order-1")
    }
  })

  it("is never made", async () => {
    const { code, stderr } = await bed.perdure(["list", "--db", "none.db"])
    expect(code).toBe(4)
    expect(stderr).toMatch(/^error NO_DATABASE: there is no file ".*none\.db" \(--db\); give the path of the database that your program opens/)
    expect(existsSync(join(bed.folder, "none.db"))).toBe(false)
    expect(await bed.perdure(["list", "--db", "."])).toMatchObject({ code: 4, stderr: expect.stringContaining("is a folder") as string })
  })

  it("is left alone where it is somebody else's", async () => {
    const path = join(bed.folder, "other.db")
    const other = new DatabaseSync(path)
    other.exec("CREATE TABLE mine (x)")
    other.close()
    const before = readFileSync(path)
    expect((await bed.perdure(["list", "--db", path])).stderr).toMatch(
      /^error NO_DATABASE: .* is a SQLite file, but not a database of Perdure; nothing was changed in it\n$/,
    )
    expect(readFileSync(path)).toEqual(before)
    writeFileSync(path, "this is no database, but long enough to be taken for one by somebody who looks at sizes only".repeat(10))
    expect(await bed.perdure(["list", "--db", path])).toMatchObject({ code: 4, stderr: expect.stringMatching(/^error DATABASE_CORRUPT: /) as string })
    writeFileSync(path, "")
    expect(await bed.perdure(["list", "--db", path])).toMatchObject({ code: 4, stderr: expect.stringMatching(/^error NO_DATABASE: /) as string })
  })
})

describe("without a worker", () => {
  let idle: CliBed

  beforeAll(async () => {
    idle = await CliBed.open()
    await idle.engine.start("order", { id: "order-1", input: { n: 1 } })
    await idle.until("order-1", "waiting")
    await idle.rest()
  })

  afterAll(() => idle.close())

  const note = "accepted; no worker is running on this file\n"

  it.each([
    ["start", ["start", "order", '{"n":2}']],
    ["send", ["send", "order-1", "payment", '{"amount":1}']],
    ["pause", ["pause", "order-1"]],
    ["bulk", ["bulk", "pause", "--workflow", "order", "--yes"]],
  ])("%s is accepted, and says so", async (_, args) => {
    expect(await idle.perdure(args)).toMatchObject({ code: 0, stderr: note })
  })

  it("an update is kept, and what waits for it is told", async () => {
    const answer = await idle.perdure(["update", "order-1", "grant", "3", "--wait", "20ms"])
    expect(answer.code).toBe(5)
    expect(answer.stderr).toMatch(/^no worker is running on this file; the update is kept, and answered when one does\nerror NOT_YET: /)
  })

  it("nothing is executed", async () => {
    await idle.perdure(["start", "order", '{"n":3}', "--id", "order-3"])
    expect(await idle.json("count")).toEqual({ paused: 2, queued: 1 })
    expect((await idle.perdure(["why", "order-3"])).stdout).toContain("no worker is running")
  })
})

describe("an interruption", () => {
  it("ends a command that waits", async () => {
    const interrupt = new AbortController()
    await bed.engine.start("order", { id: "endless", input: { n: 1 } })
    const waiting = bed.perdure(["result", "endless", "--wait"], { signal: interrupt.signal })
    await bed.until("endless", "waiting")
    interrupt.abort()
    expect(await waiting).toEqual({ code: 130, stdout: "", stderr: "" })
  })
})
