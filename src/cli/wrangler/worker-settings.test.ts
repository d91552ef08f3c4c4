import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { readSecretVars } from "./secret-vars.ts"
import { environmentOf, readWorkerSettings } from "./worker-settings.ts"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-wrangler-"))
  write("index.ts", "")
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const write = (name: string, content: string) => writeFileSync(join(folder, name), content)
const settings = (content: unknown, environment?: string) => {
  write("wrangler.jsonc", typeof content === "string" ? content : JSON.stringify(content))
  return readWorkerSettings("wrangler.jsonc", folder, environment)
}
const workflow = { binding: "CHECKOUT", name: "checkout", class_name: "Checkout" }

describe("the settings of a Worker", () => {
  it("are read with the comments of the file", () => {
    const found = settings(`{
      "name": "shop", // what it is called
      "main": "./index.ts",
      "compatibility_date": "2026-09-01",
      "compatibility_flags": ["nodejs_compat"],
      "workflows": [{
        "binding": "CHECKOUT", "name": "checkout", "class_name": "Checkout", "script_name": "shop",
        "limits": { "steps": 50 }, "concurrency": { "limit": 3 }, "schedules": ["0 6 * * *"],
        "default_retention": { "success_retention": "3 days", "error_retention": 1000 },
      }],
      "vars": { "SHOP": "corner", "DEEP": { "n": 1 } },
      "triggers": { "crons": ["*/5 * * * *"] },
      "kv_namespaces": [{ "binding": "CACHE", "id": "abc" }],
      "durable_objects": { "bindings": [{ "name": "COUNTER", "class_name": "Counter" }] },
      "ai": { "binding": "AI" },
      "assets": { "directory": "public" },
      "dev": { "port": 9000 },
    }`)
    expect(found).toMatchObject({
      name: "shop",
      main: join(folder, "index.ts"),
      workflows: [
        {
          binding: "CHECKOUT",
          name: "checkout",
          className: "Checkout",
          limits: { steps: 50 },
          concurrency: 3,
          schedules: ["0 6 * * *"],
          retention: { successRetention: "3 days", errorRetention: 1000 },
        },
      ],
      vars: { SHOP: "corner", DEEP: { n: 1 } },
      crons: ["*/5 * * * *"],
      compatibilityDate: "2026-09-01",
      compatibilityFlags: ["nodejs_compat"],
      port: 9000,
    })
    expect(found.workflows[0]?.otherWorker).toBeUndefined()
    expect(found.bindings.map(({ name, kind, options }) => [name, kind.label, options])).toEqual([
      ["CACHE", "KV namespace", { binding: "CACHE", id: "abc" }],
      ["COUNTER", "Durable Object", { name: "COUNTER", class_name: "Counter" }],
      ["AI", "AI", { binding: "AI" }],
    ])
  })

  it("of an environment inherit what wrangler lets them inherit, but no bindings and vars", () => {
    const content = {
      name: "shop",
      main: "index.ts",
      vars: { SHOP: "corner" },
      triggers: { crons: ["0 * * * *"] },
      workflows: [workflow],
      env: { staging: { vars: { SHOP: "test" } }, own: { name: "other", workflows: [{ ...workflow, script_name: "other" }], triggers: { crons: [] } } },
    }
    expect(settings(content, "staging")).toMatchObject({ name: "shop-staging", vars: { SHOP: "test" }, workflows: [], crons: ["0 * * * *"] })
    const own = settings(content, "own")
    expect(own).toMatchObject({ name: "other", vars: {}, crons: [] })
    expect(own.workflows[0]?.otherWorker).toBeUndefined()
    expect(settings({ ...content, workflows: [{ ...workflow, script_name: "billing" }] }).workflows[0]?.otherWorker).toBe("billing")
  })

  it("a folder stands for the file in it, and a variable may choose the environment", () => {
    settings({ main: "index.ts" })
    expect(readWorkerSettings(".", folder, undefined).file.path).toBe(join(folder, "wrangler.jsonc"))
    expect(environmentOf({ env: { CLOUDFLARE_ENV: "staging" } }, undefined)).toBe("staging")
    expect(environmentOf({ env: { CLOUDFLARE_ENV: "staging" } }, "own")).toBe("own")
    expect(environmentOf({ env: {} }, undefined)).toBeUndefined()
  })

  it.each([
    ["BAD_WRANGLER_JSON", '{\n  "main": "index.ts"\n  "vars": {}\n}', /wrangler\.jsonc:3:3 is no JSON: , or \} should be here/],
    ["BAD_WRANGLER_FILE", "[]", /has to be an object/],
    ["NO_MAIN", {}, /has no "main"; add the path/],
    ["NO_MAIN", { main: "src/none.ts" }, /"main" of .* is "src\/none.ts", but there is no file \.\/src\/none\.ts/],
    [
      "BAD_WRANGLER_FILE",
      { main: "index.ts", workflows: [{ binding: "A", name: "a" }] },
      /workflows\[0\]\.class_name .* has to be a text .*, but it is missing/,
    ],
    ["BAD_WRANGLER_FILE", { main: "index.ts", workflows: {} }, /workflows .* has to be a list of objects, not \{\}/],
    ["BAD_WRANGLER_FILE", { main: "index.ts", triggers: { crons: "* * * * *" } }, /triggers\.crons .* has to be a list of texts/],
    ["BAD_WRANGLER_FILE", { main: "index.ts", workflows: [{ ...workflow, concurrency: { limit: "3" } }] }, /concurrency\.limit .* has to be a number, not "3"/],
    ["DUPLICATE_BINDING", { main: "index.ts", workflows: [workflow], vars: { CHECKOUT: "1" } }, /two bindings "CHECKOUT"; give one of them another name/],
    ["DUPLICATE_BINDING", { main: "index.ts", kv_namespaces: [{ binding: "A" }], r2_buckets: [{ binding: "A" }] }, /two bindings "A"/],
    ["DUPLICATE_WORKFLOW", { main: "index.ts", workflows: [workflow, { ...workflow, binding: "OTHER" }] }, /two workflows with the name "checkout"/],
  ])("%s: %j", (code, content, message) => {
    expect(() => settings(content)).toThrow(expect.objectContaining({ code, exitCode: 2, message: expect.stringMatching(message) as string }))
  })

  it("a file that is missing, is TOML, or lacks the environment is refused", () => {
    const read = (name: string, environment?: string) => () => readWorkerSettings(name, folder, environment)
    expect(read("none.jsonc")).toThrow(expect.objectContaining({ code: "NO_WRANGLER_FILE" }))
    mkdirSync(join(folder, "sub"))
    expect(read("sub")).toThrow(expect.objectContaining({ code: "NO_WRANGLER_FILE", message: expect.stringContaining('no wrangler.jsonc in "sub"') as string }))
    write("wrangler.toml", 'main = "index.ts"')
    expect(read(".")).toThrow(expect.objectContaining({ code: "WRANGLER_TOML", message: expect.stringContaining("wrangler.jsonc") as string }))
    write("wrangler.json", JSON.stringify({ main: "index.ts", env: { staging: {} } }))
    expect(read("wrangler.json", "prod")).toThrow(
      expect.objectContaining({ code: "NO_ENVIRONMENT", message: expect.stringContaining('it has "staging"') as string }),
    )
  })
})

describe("the secrets of a developer", () => {
  it("come from .dev.vars alone if there is one, otherwise from all .env files, the more specific one first", () => {
    const { file } = settings({ main: "index.ts", env: { staging: {} } })
    expect(readSecretVars(file)).toEqual({})
    write(".env", "A=1\nB=1\nC=1")
    write(".env.local", 'B="2"')
    write(".env.staging", "C=3")
    expect(readSecretVars(file)).toEqual({ A: "1", B: "2", C: "1" })
    const staging = settings({ main: "index.ts", env: { staging: {} } }, "staging").file
    expect(readSecretVars(staging)).toEqual({ A: "1", B: "2", C: "3" })
    write(".dev.vars", "A=dev # a comment")
    expect(readSecretVars(staging)).toEqual({ A: "dev" })
    write(".dev.vars.staging", "D=4")
    expect(readSecretVars(staging)).toEqual({ D: "4" })
  })

  it("are only those that the file requires, if it names some", () => {
    write(".dev.vars", "A=1\nB=2")
    expect(readSecretVars(settings({ main: "index.ts", secrets: { required: ["B", "C"] } }).file)).toEqual({ B: "2" })
  })
})
