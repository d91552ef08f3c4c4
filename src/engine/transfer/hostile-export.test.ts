// Files that somebody wrote by hand, or that something damaged: each is refused with a code, and puts nothing into the store.

import { afterEach, describe, expect, it } from "vitest"
import type { Context } from "../../core/workflow/context.ts"
import { messageOf } from "../../core/values/error-text.ts"
import { PerdureError } from "../../core/errors.ts"
import { workflow } from "../../core/workflow/workflow.ts"
import { memory } from "../../stores/memory/memory-provider.ts"
import { createTestEngine, type TestEngine } from "../../testing/test-engine.ts"
import { exportInstance, exportLines, parseExports } from "./instance-export.ts"
import { importInstance } from "./instance-import.ts"

const flow = workflow("flow", { concurrency: 1, singleton: true, priority: 2 }, async (ctx: Context, input: number) => {
  ctx.setMemo("note", input)
  await ctx.do("work", () => "x".repeat(input))
  return ctx.waitForEvent("word")
})

const engines: TestEngine[] = []
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})

async function open(): Promise<TestEngine> {
  const engine = await createTestEngine({ workflows: [flow], store: memory() })
  engines.push(engine)
  return engine
}

async function linesOfInstance(): Promise<readonly string[]> {
  const engine = await open()
  const handle = await engine.start(flow, { id: "i", input: 3, tags: ["t"] })
  await engine.settle()
  await handle.pause()
  await engine.settle()
  await handle.sendEvent("word", { rich: new Date(0) }, { eventId: "e" })
  return [...exportLines(await exportInstance(engine.current.components.store, "i"), 1)]
}

/** Undefined: it was imported. */
async function refusalOf(engine: TestEngine, lines: readonly string[]): Promise<unknown> {
  try {
    for await (const exported of parseExports(lines)) await importInstance(engine.current.components.store, engine.host, exported)
    return undefined
  } catch (error) {
    return error
  }
}

const wrongValues: readonly unknown[] = [null, -1, 1.5, 1e300, true, "", "nonsense", "\0", [], [null], {}, { __proto__: null }]

/** Each place inside the value, as keys. */
function* places(value: unknown): Generator<readonly string[]> {
  if (typeof value !== "object" || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    yield [key]
    for (const rest of places(inner)) yield [key, ...rest]
  }
}

function changed(value: unknown, [key = "", ...rest]: readonly string[], wrong: unknown): unknown {
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }
  const found: unknown = Reflect.get(copy, key)
  Reflect.set(copy, key, rest.length === 0 ? wrong : changed(found, rest, wrong))
  return copy
}

it("an incarnation that could end a line of a stream is refused", async () => {
  const lines = await linesOfInstance()
  const at = lines.findIndex((line) => line.includes('"incarnation"'))
  const forged = changed(JSON.parse(lines[at] ?? ""), ["instance", "incarnation"], "a\n\ndata: {}\n\nx")
  expect(JSON.stringify(forged)).toContain("data: {}")
  const error = await refusalOf(await open(), lines.with(at, JSON.stringify(forged)))
  expect(error).toMatchObject({ code: "BAD_EXPORT", message: expect.stringContaining("incarnation") as string })
})

describe("a file that was changed in one place", () => {
  it("is imported and can be looked at, or is refused with a code and leaves nothing", async () => {
    const lines = await linesOfInstance()
    const complaints: string[] = []
    let refused = 0
    let engine = await open()
    for (const [at, line] of lines.entries()) {
      for (const place of places(JSON.parse(line))) {
        for (const wrong of wrongValues) {
          const text = JSON.stringify(changed(JSON.parse(line), place, wrong))
          const error = await refusalOf(engine, lines.with(at, text))
          const { instances } = await engine.list()
          const what = `line ${at + 1}, ${place.join(".")}: ${JSON.stringify(wrong)}`
          if (error !== undefined) {
            refused++
            if (!PerdureError.is(error)) complaints.push(`${what}: ${messageOf(error)}`)
            if (instances.length > 0) complaints.push(`${what}: something was imported`)
          }
          // What is inside entries is looked at by whoever reads the journal.
          if (instances.length > 0 && place[0] === "entries") engine = await open()
          else
            for (const { id } of instances) {
              for (const look of [() => engine.get(id).describe(), () => engine.get(id).why(), () => engine.get(id).history()])
                await look().catch((reason: unknown) => complaints.push(`${what}: cannot be looked at: ${messageOf(reason)}`))
              await engine.get(id).terminate()
              await engine.get(id).delete()
            }
        }
      }
    }
    expect(complaints).toEqual([])
    expect(refused).toBeGreaterThan(400)
  })

  it.each([
    ["createdAt", "now", "createdAt"],
    ["tags", "t", "tags"],
    ["tags", [5], "tags[0]"],
    ["flow", { limits: 5 }, "limits"],
    ["version", 1, "version"],
    ["queue", [], "queue"],
  ])("names the line and the field: %s as %j", async (field, wrong, named) => {
    const lines = await linesOfInstance()
    const engine = await open()
    const error = await refusalOf(engine, lines.with(0, JSON.stringify(changed(JSON.parse(lines[0] ?? ""), ["instance", field], wrong))))
    expect(error).toMatchObject({ code: "BAD_EXPORT", message: expect.stringContaining(`line 1: ${named} is `) as string })
  })
})
