// Values that are small as stored and hundreds of megabytes as plain JSON. The output of the commands stays bounded.

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { CliBed } from "./cli-bed.ts"

const list = Array.from({ length: 400 }, () => "x".repeat(1_000_000))
const marker = { $perdure: "tooLarge", accept: "application/vnd.perdure+json" }

describe.each(["file", "server"] as const)("on a %s", (target) => {
  let bed: CliBed

  beforeAll(async () => {
    bed = await CliBed.open(target)
    await bed.engine.start("order", { id: "big", input: { n: 1, list } })
  })

  afterAll(() => bed.close())

  it.each([
    ["show", { id: "big", input: marker }],
    ["history", { entries: { 0: { type: "run.started", data: { workflow: "order", value: marker } } } }],
  ] as const)("%s --json has a marker for such a value", async (command, expected) => {
    const { stdout } = await bed.perdure([command, "big", "--json"])
    expect(stdout.length).toBeLessThan(10_000)
    expect(JSON.parse(stdout)).toMatchObject(expected)
  })

  it.each([[["show"]], [["show", "--full"]], [["history"]], [["history", "--all"]]])("%j prints the beginning of such a value", async (command) => {
    const { code, stdout } = await bed.perdure([...command, "big"])
    expect(code).toBe(0)
    expect(stdout).toMatch(/\{"n":1,"list":\["x{1000,}…/)
    expect(stdout.length).toBeLessThan(500_000)
  })
})

describe("an answer of a workflow", () => {
  let bed: CliBed

  beforeAll(async () => {
    bed = await CliBed.open("server")
    await bed.engine.start("order", { id: "big", input: { n: 1 } })
  })

  afterAll(() => bed.close())

  it.each([[["--json"]], [[]]])("that is too large is refused with %j, and the error says what has it", async (flags) => {
    await bed.engine.get("big").update("grant", list)
    const { code, stdout, stderr } = await bed.perdure(["query", "big", "discount", ...flags])
    expect([code, stdout]).toEqual([1, ""])
    expect(stderr).toContain("TOO_LARGE_FOR_JSON")
    expect(stderr).toContain("application/vnd.perdure+json")
  })

  it("that is deep is printed on one line, and not with a thousand blanks before each part", async () => {
    let deep: unknown = Array.from({ length: 10_000 }, () => [])
    for (let level = 0; level < 500; level++) deep = [deep]
    await bed.engine.get("big").update("grant", deep)
    const { stdout } = await bed.perdure(["query", "big", "discount"])
    expect(stdout.length).toBeLessThan(100_000)
    expect(JSON.parse(stdout)).toEqual(deep)
  })
})
