// The table of docs/instance-states.md, cell by cell, on the test engine.

import { readFileSync } from "node:fs"
import { type Context, type ControlResult, type Handle, PerdureError, workflow } from "perdure"
import { createTestEngine, type TestEngine } from "perdure/testing"
import { expect, it } from "vitest"

type Events = { letter: number; nudge: number }

const endless = new Promise<never>(() => undefined)

const working = workflow("working", async (ctx: Context<Events>) => ctx.do("work", () => endless))
const sleeping = workflow("sleeping", async (ctx: Context<Events>) => ctx.sleep("nap", "1d"))
const waiting = workflow("waiting", async (ctx: Context<Events>) => ctx.waitForEvent("letter"))
const returning = workflow("returning", async () => "done")
const throwing = workflow("throwing", async () => Promise.reject(new Error("broken")))
const undoing = workflow("undoing", async (ctx: Context<Events>) => {
  await ctx.do("work", () => 1, { rollback: () => endless })
  throw new Error("broken")
})
/** A new version of `waiting` that does not match the journal. */
const mistaken = workflow("waiting", async (ctx) => ctx.sleep("letter", "1d"))

/** Brings an instance "a" into the state of a row. */
const ways: Record<string, (engine: TestEngine) => Promise<unknown>> = {
  queued: (engine) => engine.start(waiting, { id: "a", delay: "1h" }),
  running: (engine) => engine.start(working, { id: "a" }),
  "running, pausing": async (engine) => {
    const handle = await engine.start(working, { id: "a" })
    await engine.settle()
    await handle.pause()
  },
  "running, cancelling": async (engine) => {
    const handle = await engine.start(working, { id: "a" })
    await engine.settle()
    await handle.cancel()
  },
  "running, rollingBack": (engine) => engine.start(undoing, { id: "a" }),
  sleeping: (engine) => engine.start(sleeping, { id: "a" }),
  waiting: (engine) => engine.start(waiting, { id: "a" }),
  paused: async (engine) => {
    const handle = await engine.start(waiting, { id: "a" })
    await engine.settle()
    await handle.pause()
  },
  stalled: async (engine) => {
    const handle = await engine.start(waiting, { id: "a" })
    await engine.settle()
    await engine.crash({ workflows: [mistaken] })
    await handle.sendEvent("nudge", 0)
    await engine.settle()
    await engine.crash({ workflows: [working, sleeping, waiting, returning, throwing, undoing] })
  },
  completed: (engine) => engine.start(returning, { id: "a" }),
  failed: (engine) => engine.start(throwing, { id: "a" }),
  cancelled: async (engine) => {
    const handle = await engine.start(waiting, { id: "a" })
    await engine.settle()
    await handle.cancel()
  },
  terminated: async (engine) => {
    const handle = await engine.start(waiting, { id: "a" })
    await engine.settle()
    await handle.terminate()
  },
}

const controls: Record<string, (handle: Handle) => Promise<ControlResult | void>> = {
  sendEvent: (handle) => handle.sendEvent("letter", 1),
  pause: (handle) => handle.pause(),
  resume: (handle) => handle.resume(),
  cancel: (handle) => handle.cancel(),
  terminate: (handle) => handle.terminate(),
  rollback: (handle) => handle.terminate({ rollback: true }),
  restart: (handle) => handle.restart(),
  delete: async (handle) => void (await handle.delete()),
}

const text = readFileSync(new URL("../docs/instance-states.md", import.meta.url), "utf8")
const rows = (text.split("cell by cell")[1] ?? "")
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
const [head = [], ...body] = rows
const cells = body.flatMap(([state = "", ...row]) => row.map((cell, index) => ({ state, control: head[index + 1] ?? "", cell })))

it("the table has a row for every state and a column for every control", () => {
  expect(body.map(([state]) => state)).toEqual(Object.keys(ways))
  expect(head.slice(1)).toEqual(Object.keys(controls))
})

const unownedRows = (text.split("checks it.")[1] ?? "")
  .split("## ")[0]
  ?.split("\n")
  .filter((line) => line.startsWith("| "))
  .map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
const unownedCells = (unownedRows ?? []).slice(1).flatMap(([state = "", pause = "", cancel = ""]) => [
  { state, control: "pause" as const, cell: pause },
  { state, control: "cancel" as const, cell: cancel },
])

it("the table of instances that no worker runs has a row for each of their states", () => {
  expect((unownedRows ?? []).slice(1).map(([state]) => state)).toEqual(["queued", "sleeping", "waiting", "paused"])
})

it.each(unownedCells)("$control of an instance that no worker runs and that is $state answers: $cell", async ({ state, control, cell }) => {
  await using engine = await createTestEngine({ workflows: [working, sleeping, waiting] })
  await ways[state]?.(engine)
  await engine.evict("a")
  expect(await stateOf(engine.get("a"))).toBe(state)
  const { accepted, status, phase, reason } = await engine.get("a")[control]()
  expect(accepted ? [status, phase].filter((part) => part !== undefined).join(", ") : `no: ${reason}`).toBe(cell)
})

async function stateOf(handle: Handle): Promise<string> {
  const { status, phase } = await handle.describe()
  return phase === undefined ? status : `${status}, ${phase}`
}

/** The effect of a control, in the words of the table. */
async function observe(engine: TestEngine, control: string): Promise<string> {
  const handle = engine.get("a")
  const before = await stateOf(handle)
  let answer: ControlResult | void
  try {
    answer = await controls[control]?.(handle)
  } catch (error) {
    return `${(error as PerdureError).code}${await unlessStill(before, handle)}`
  }
  await engine.settle()
  if (answer && !answer.accepted) return `no: ${answer.reason}${await unlessStill(before, handle)}`
  if (answer) return (await handle.describe()).run > 1 ? `→ run ${(await handle.describe()).run}` : `→ ${await stateOf(handle)}`
  if (control === "sendEvent") return (await stateOf(handle)) === before ? "kept" : `goes on${(await handle.result()) === 1 ? "" : " with something else"}`
  return handle.status().catch((error: unknown) => (PerdureError.is(error, "NOT_FOUND") ? "→ deleted" : `→ ${String(error)}`))
}

async function unlessStill(before: string, handle: Handle): Promise<string> {
  const after = await stateOf(handle)
  return after === before ? "" : `, and yet it is ${after} now`
}

it.each(cells)("$control of an instance that is $state: $cell", async ({ state, control, cell }) => {
  await using engine = await createTestEngine({ workflows: [working, sleeping, waiting, returning, throwing, undoing] })
  await ways[state]?.(engine)
  await engine.settle()
  expect(await stateOf(engine.get("a"))).toBe(state)
  expect(await observe(engine, control)).toBe(cell)
})
