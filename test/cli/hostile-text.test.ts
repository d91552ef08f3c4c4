// Stored text of callers in the output of the CLI. It may neither control the terminal nor look like a line of the CLI.

import { Perdure, workflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { afterAll, beforeAll, expect, it } from "vitest"
import { CliBed } from "./cli-bed.ts"

const hostile = "v\u001b[2J\u009b31m\u202e\u200f\r\nFAKE LINE"
const plain = workflow("plain", async (ctx) => ctx.waitForEvent("go"))

let bed: CliBed

beforeAll(async () => {
  bed = new CliBed()
  const engine = await Perdure.open({ store: sqlite(bed.db), workflows: [plain] })
  await engine.start("ghost", { id: "ghost-1", version: hostile, tags: [hostile], allowUnknown: true })
  const handle = await engine.start(plain, { id: "plain-1", tags: [hostile] })
  await handle.pause(hostile)
  await engine.schedules.create("often", { workflow: plain, every: "1h", tags: [hostile] })
  await engine.close()
})

afterAll(() => bed.close())

it.each([
  ["show", "ghost-1"],
  ["show", "plain-1"],
  ["show", "ghost-1", "--json"],
  ["list"],
  ["list", "--json"],
  ["why", "ghost-1"],
  ["why", "plain-1"],
  ["history", "ghost-1"],
  ["schedules", "list"],
  ["schedules", "show", "often"],
  ["schedules", "show", "often", "--json"],
])("perdure %s %s %s", async (...command) => {
  const { stdout, stderr, code } = await bed.perdure(command.filter((word) => word !== undefined))
  expect(code).toBe(0)
  const text = stdout + stderr
  expect(text.length).toBeGreaterThan(20)
  // oxlint-disable-next-line no-control-regex
  expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200f\u202e]/)
  expect(text).not.toMatch(/^FAKE LINE/m)
})
