// Encrypted and sensitive values: the CLI does not show them, and does not store other values in the clear beside them.

import { type Engine, Perdure, workflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { CliBed } from "./cli-bed.ts"

const secret = "4111-1111"
const pay = workflow("pay", { sensitive: { input: true, result: true } }, async (_, input: { card: string }) => input.card)
const plain = workflow("plain", async (ctx, input: { card: string }) => {
  await ctx.waitForEvent("go")
  return input.card
})
const turned = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0xff)

let bed: CliBed
const engines: Engine[] = []

beforeAll(async () => {
  bed = new CliBed()
  const marked = await Perdure.open({ store: sqlite(bed.db), workflows: [pay] })
  const encoded = await Perdure.open({ store: sqlite(`${bed.folder}/encoded.db`), workflows: [plain], codec: { id: "turned", encode: turned, decode: turned } })
  engines.push(marked, encoded)
  await (await marked.start(pay, { id: "pay-1", input: { card: secret } })).result()
  await encoded.start(plain, { id: "plain-1", input: { card: secret } })
})

afterAll(async () => {
  for (const engine of engines) await engine.close()
  await bed.close()
})

describe("hidden values", () => {
  it.each([
    ["show", "pay-1"],
    ["show", "pay-1", "--full"],
    ["show", "pay-1", "--json"],
    ["history", "pay-1"],
    ["result", "pay-1"],
    ["show", "plain-1", "--db", "encoded.db"],
    ["history", "plain-1", "--db", "encoded.db", "--json"],
  ])("%s %s %s shows that they are there, and nothing of them", async (...args) => {
    const { code, stdout } = await bed.perdure(args)
    expect(code).toBe(0)
    expect(stdout).toContain("$perdure")
    expect(stdout).not.toContain(secret)
  })

  it.each([
    ["an input that is sensitive", ["start", "pay", `{"card":"1"}`]],
    ["the input of a fork", ["fork", "pay-1", "--id", "pay-2", "--input", `{"card":"1"}`]],
    ["the input of a schedule", ["schedules", "create", "daily", "-w", "pay", "--every", "1d", "--input", `{"card":"1"}`]],
    ["an input that is encoded", ["start", "plain", `{"card":"1"}`, "--db", "encoded.db"]],
    ["an event where all is encoded", ["send", "plain-1", "go", "1", "--db", "encoded.db"]],
    ["an update where all is encoded", ["update", "plain-1", "x", "1", "--db", "encoded.db"]],
  ])("%s is not stored in the open", async (_, args) => {
    const { code, stderr } = await bed.perdure(args)
    expect(stderr).toMatch(/^error HIDDEN_VALUES: values like this one are .*; go through a server \(--url\)\n$/)
    expect(code).toBe(1)
  })

  it("what carries no value is welcome", async () => {
    expect(await bed.perdure(["send", "plain-1", "go", "--db", "encoded.db"])).toMatchObject({ code: 0, stderr: "" })
    expect((await bed.perdure(["result", "plain-1", "--wait", "--db", "encoded.db"])).stdout).toContain("$perdure")
  })
})
