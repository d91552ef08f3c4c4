import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { type GlobalOptions, resolveTarget } from "./target.ts"

let folder: string
let cwd: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-target-"))
  cwd = join(folder, "project/deep")
  mkdirSync(cwd, { recursive: true })
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const resolve = (options: GlobalOptions, env: Record<string, string> = {}) => resolveTarget(options, { cwd, env: { HOME: join(folder, "home"), ...env } })
const write = (path: string, content: unknown) => {
  mkdirSync(join(folder, path, ".."), { recursive: true })
  writeFileSync(join(folder, path), typeof content === "string" ? content : JSON.stringify(content))
}
const projectConfig = (content: unknown) => write("project/perdure.config.json", content)

describe("what a command is about", () => {
  it("is the local server if nothing is said and no file is there", () => {
    expect(resolve({})).toMatchObject({ kind: "url", url: "http://127.0.0.1:8787" })
  })

  it("is perdure.db if it is there", () => {
    write("project/deep/perdure.db", "")
    expect(resolve({})).toMatchObject({ kind: "db", db: join(cwd, "perdure.db") })
  })

  const dev = (note: { url?: string; db?: string; pid?: number }, path = "project") =>
    write(`${path}/.perdure/dev.json`, { url: "http://127.0.0.1:9000", db: join(folder, "project/perdure.db"), pid: process.pid, ...note })

  it("is the server of perdure dev where it serves that database or nobody chose one, but never in place of --db", () => {
    dev({})
    const served = { kind: "url", url: "http://127.0.0.1:9000", serves: join(folder, "project/perdure.db") }
    expect(resolve({})).toMatchObject(served)
    expect(resolve({}, { PERDURE_DB: "../perdure.db" })).toMatchObject(served)
    expect(resolve({ db: "../perdure.db" })).toMatchObject({ kind: "db", from: "--db" })
    expect(resolve({}, { PERDURE_DB: "other.db" })).toMatchObject({ kind: "db" })
    expect(resolve({}, { PERDURE_URL: "http://x", PERDURE_TOKEN: "t" })).toMatchObject({ kind: "url", url: "http://x" })
    expect(resolve({}, { PERDURE_TOKEN: "t" })).not.toHaveProperty("token")
    write("project/deep/perdure.db", "")
    expect(resolve({})).toMatchObject({ kind: "db", db: join(cwd, "perdure.db") })
    dev({}, "project/deep")
    expect(resolve({})).toMatchObject(served)
  })

  it.each([
    ["of a process that is gone", { pid: 2 ** 22 + 1 }],
    ["of another machine", { url: "http://example.com" }],
    ["without a database", { db: 5 as unknown as string }],
  ])("is not a server of perdure dev %s", (_, note) => {
    dev(note)
    expect(resolve({})).toMatchObject({ kind: "url", url: "http://127.0.0.1:8787" })
  })

  it("is what the options say, before the environment", () => {
    expect(resolve({ db: "a.db" }, { PERDURE_URL: "http://x" })).toMatchObject({ kind: "db", db: join(cwd, "a.db"), from: "--db" })
    expect(resolve({ url: "http://y", token: "t" }, { PERDURE_DB: "x.db" })).toMatchObject({ kind: "url", url: "http://y", token: "t" })
  })

  it("is what the environment says, before the default profile", () => {
    projectConfig({ profile: "local", profiles: { local: { db: "p.db" } } })
    expect(resolve({}, { PERDURE_URL: "http://x", PERDURE_TOKEN: "t" })).toMatchObject({ kind: "url", url: "http://x", token: "t" })
    expect(resolve({}, { PERDURE_DB: "x.db" })).toMatchObject({ kind: "db", db: join(cwd, "x.db") })
    expect(resolve({}, { PERDURE_DB: "" })).toMatchObject({ kind: "db", db: join(folder, "project/p.db") })
  })

  it("is a profile, whose file is relative to the file that names it", () => {
    projectConfig({ profiles: { local: { db: "data/p.db" } } })
    write("home/.config/perdure/config.json", { profile: "far", profiles: { far: { url: "https://far", tokenEnv: "FAR" }, local: { db: "/else.db" } } })
    expect(resolve({ profile: "local" })).toMatchObject({ kind: "db", db: join(folder, "project/data/p.db") })
    expect(resolve({}, { FAR: "secret" })).toMatchObject({ kind: "url", url: "https://far", token: "secret" })
  })

  it("is never given a token that was meant for another", () => {
    projectConfig({ profiles: { theirs: { url: "https://theirs" }, greedy: { url: "https://theirs", tokenEnv: "CLOUD_SECRET" } } })
    expect(resolve({ profile: "theirs" }, { PERDURE_TOKEN: "mine" })).not.toHaveProperty("token")
    expect(() => resolve({ profile: "greedy" }, { CLOUD_SECRET: "mine" })).toThrow(/must name a variable that begins with PERDURE_/)
  })

  it.each<[string, GlobalOptions, unknown, RegExp]>([
    ["both a database and a server", { db: "a", url: "http://b" }, {}, /either --db or --url/],
    ["no address", { url: "localhost:8787" }, {}, /not an http or https address/],
    ["an unknown profile", { profile: "x" }, { profiles: { y: { db: "y.db" } } }, /no profile "x"; there are "y"/],
    ["a profile of nothing", { profile: "x" }, { profiles: { x: {} } }, /either "db" or "url"/],
    ["a file that is no JSON", { profile: "x" }, "{", /cannot be read as JSON/],
  ])("cannot be %s", (_, options, config, message) => {
    projectConfig(config)
    expect(() => resolve(options)).toThrow(message)
  })
})
