// The compiler's messages for the most frequent mistakes. A message names only the mistake, at its place, under the newest TypeScript and under the oldest
// version that we support.

import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../", import.meta.url))

const prelude = `import { type Client, type Context, workflow } from "perdure"
import type { TestEngine } from "perdure/testing"
interface Events { payment: { amount: number }; cancel: undefined }
interface Answers { queries: { items(from?: number): string[] }; updates: { add(item: string): number } }
interface Order { id: string; count?: number }
export const order = workflow("order", async (ctx: Context<Events, Order, Answers>, input: Order) => {
  await ctx.waitForEvent("payment")
  return input.id
})
export declare const engine: Client
export declare const testEngine: TestEngine
export const handle = engine.get(order, "order-1")
`

interface Mistake {
  readonly what: string
  readonly code: string
  /** The whole first line that the compiler prints, without its place. */
  readonly says: string
}

const mistakes: readonly Mistake[] = [
  {
    what: "a start with a field of another type",
    code: `await engine.start(order, { input: { id: 1 } })`,
    says: "Type 'number' is not assignable to type 'string'.",
  },
  {
    what: "a start with a field that is misspelt",
    code: `await engine.start(order, { input: { id: "a", cuont: 1 } })`,
    says: "Object literal may only specify known properties, but 'cuont' does not exist in type 'Order'. Did you mean to write 'count'?",
  },
  { what: "a start without its input", code: `await engine.start(order)`, says: "Expected 2 arguments, but got 1." },
  {
    what: "a start whose input stands among the options",
    code: `await engine.start(order, { id: "a", count: 1 })`,
    says: "Object literal may only specify known properties, and 'count' does not exist in type 'StartOptions<Order> & { readonly input: Order; }'.",
  },
  {
    what: "an item of a batch with another input",
    code: `await engine.startBatch([{ workflow: order, input: { id: "a" } }, { workflow: order, input: { id: 1 } }])`,
    says: "Type 'number' is not assignable to type 'string'.",
  },
  {
    what: "an event that is misspelt",
    code: `await handle.sendEvent("paymnt", { amount: 1 })`,
    says: `Argument of type '"paymnt"' is not assignable to parameter of type '"cancel" | "payment"'.`,
  },
  {
    what: "an event with another payload",
    code: `await handle.sendEvent("payment", { amount: "1" })`,
    says: "Type 'string' is not assignable to type 'number'.",
  },
  {
    what: "an event of a test that is misspelt",
    code: `await testEngine.sendEvent(handle, "paymnt", { amount: 1 })`,
    says: `Argument of type '"paymnt"' is not assignable to parameter of type '"cancel" | "payment"'.`,
  },
  {
    what: "a send or start with another payload",
    code: `await engine.sendOrStart(order, { id: "a", event: "payment", payload: { amount: "1" }, input: { id: "a" } })`,
    says: "Type 'string' is not assignable to type 'number'.",
  },
  {
    what: "a wait for an event that is misspelt",
    code: `workflow("w", async (ctx: Context<Events>) => ctx.waitForEvent("paymnt"))`,
    says: `Argument of type '"paymnt"' is not assignable to parameter of type '"cancel" | "payment"'.`,
  },
  {
    what: "a query that is misspelt",
    code: `await handle.query("itms")`,
    says: `Argument of type '"itms"' is not assignable to parameter of type '"items"'.`,
  },
  {
    what: "an update with another argument",
    code: `await handle.update("add", 1)`,
    says: "Argument of type 'number' is not assignable to parameter of type 'string'.",
  },
  {
    what: "a handler of a query that nobody declared",
    code: `workflow("w", async (ctx: Context<Events, void, Answers>) => ctx.setQueryHandler("itms", () => []))`,
    says: `Argument of type '"itms"' is not assignable to parameter of type '"items"'.`,
  },
  {
    what: "a run that continues with another input",
    code: `workflow("w", async (ctx, input: { n: number }) => ctx.continueAsNew({ n: String(input.n) }))`,
    says: "Type 'string' is not assignable to type 'number'.",
  },
  {
    what: "a child with another input",
    code: `workflow("w", async (ctx) => ctx.runChild(order, { input: { id: 1 } }))`,
    says: "Type 'number' is not assignable to type 'string'.",
  },
  {
    what: "a schedule with another input",
    code: `await engine.schedules.create("daily", { workflow: order, cron: "0 2 * * *", input: { id: 1 } })`,
    says: "Type 'number' is not assignable to type 'string'.",
  },
  { what: "a handle without an id", code: `engine.get(order)`, says: "Expected 2 arguments, but got 1." },
  {
    what: "a duration that is none",
    code: `workflow("w", async (ctx) => ctx.sleep("nap", "5 parsecs"))`,
    says: `Argument of type '"5 parsecs"' is not assignable to parameter of type 'Duration'.`,
  },
  {
    what: "an option of a step that there is not",
    code: `workflow("w", async (ctx) => ctx.do("x", () => 1, { retries: 5 }))`,
    says: "Object literal may only specify known properties, and 'retries' does not exist in type 'StepOptions<number>'.",
  },
]

let folder: string
const fileOf = (index: number) => `mistake-${index}.ts`

/** Makes a project whose package "perdure" is our sources. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-messages-"))
  const modules = join(folder, "node_modules")
  mkdirSync(join(modules, "perdure"), { recursive: true })
  symlinkSync(join(root, "src"), join(modules, "perdure/src"))
  symlinkSync(join(root, "node_modules/@types"), join(modules, "@types"))
  const exports = { ".": "./src/index.ts", "./testing": "./src/testing.ts" }
  writeFileSync(join(modules, "perdure/package.json"), JSON.stringify({ name: "perdure", type: "module", exports }))
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }))
  const compilerOptions = { noEmit: true, types: ["node"], lib: ["ES2023", "ESNext.Disposable"] }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ extends: join(root, "tsconfig.base.json"), compilerOptions, include: ["*.ts"] }))
  mistakes.forEach(({ code }, index) => writeFileSync(join(folder, fileOf(index)), `${prelude}${code}\n`))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The messages of the compiler for each file. */
async function messagesOf(compiler: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const args = [join(root, compiler), "-p", folder, "--pretty", "false"]
  const stdout = await promisify(execFile)(process.execPath, args, { timeout: 240_000 }).then(
    (answer) => answer.stdout,
    (error: { readonly stdout: string }) => error.stdout,
  )
  const messages = new Map<string, string[]>()
  // A line that continues a message begins with spaces.
  for (const line of stdout.split("\n").filter((text) => text !== "" && !text.startsWith(" "))) {
    const match = /(mistake-\d+\.ts)\(\d+,\d+\): error TS\d+: (.*)$/.exec(line)
    const [file, message] = match ? [match[1] ?? "", match[2] ?? ""] : ["elsewhere", line]
    messages.set(file, [...(messages.get(file) ?? []), message])
  }
  return messages
}

describe.each([
  ["TypeScript 7", "node_modules/typescript/bin/tsc"],
  ["TypeScript 5.9", "test/older-typescript/node_modules/typescript/lib/tsc.js"],
])("%s", (_, compiler) => {
  let messages: ReadonlyMap<string, readonly string[]>

  beforeAll(async () => {
    messages = await messagesOf(compiler)
  }, 240_000)

  it("finds nothing wrong in what is right", () => {
    expect(messages.get("elsewhere")).toBeUndefined()
  })

  it.each(mistakes.map((mistake, index) => ({ ...mistake, index })))("says what is wrong with $what", ({ index, says }) => {
    expect(messages.get(fileOf(index))).toEqual([says])
  })
})
