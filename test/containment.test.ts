// An unhandled rejection inside a workflow stops no other instance and no process. Tested in own processes, on the real Node host.

import { spawn } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const script = fileURLToPath(new URL("contained-process.ts", import.meta.url))

const run = async (place: string) => {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, place], { stdio: ["ignore", "pipe", "pipe"] })
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close") as Promise<[number | null]>])
  return { code, err, out: out === "" ? undefined : (JSON.parse(out) as { result: string; other: string; lines: string[] }) }
}

const seconds = 1_000

describe("a rejection that nobody handles", () => {
  it.each([
    ["workflow", 'a promise of instance "i" was rejected and nobody handled it | i | Error: forgotten in workflow'],
    ["workflow after a step", 'a promise of instance "i" was rejected and nobody handled it | i | Error: forgotten in workflow after a step'],
    [
      "code that is replayed for a query",
      'a promise of instance "i" was rejected and nobody handled it | i | Error: forgotten in code that is replayed for a query',
    ],
    ["query", 'a promise of instance "i" was rejected and nobody handled it | i | Error: forgotten in query'],
    ["handler of an event", 'a promise of instance "bystander" was rejected and nobody handled it | bystander | Error: forgotten in handler of an event'],
    ["validation", 'a promise of instance "bystander" was rejected and nobody handled it | bystander | Error: forgotten in validation'],
    ["update", 'a promise of instance "bystander" was rejected and nobody handled it | bystander | Error: forgotten in update'],
    ["step", 'a promise of instance "i", step "work", was rejected and nobody handled it | i | Error: forgotten in step'],
    ["step after an await", 'a promise of instance "i", step "work", was rejected and nobody handled it | i | Error: forgotten in step after an await'],
    ["nested step", 'a promise of instance "i", step "work/inner", was rejected and nobody handled it | i | Error: forgotten in nested step'],
  ])(
    "in %s is logged, and everybody goes on",
    async (place, line) => {
      const { code, out, err } = await run(place)
      expect({ code, err, ...out }).toEqual({ code: 0, err: "", result: "worked", other: "unharmed", lines: [line] })
    },
    30 * seconds,
  )

  it(
    "in a hook is logged, and everybody goes on",
    async () => {
      const { code, out, err } = await run("hook")
      const line = 'a promise of instance "i" was rejected and nobody handled it | i | Error: forgotten in hook'
      expect({ code, err, ...out }).toEqual({ code: 0, err: "", result: "worked", other: "unharmed", lines: [line] })
    },
    30 * seconds,
  )

  it(
    "by a step that the closing engine tells to stop does not end the process",
    async () => {
      const { code, out, err } = await run("step at the close")
      expect({ code, err, ...out }).toEqual({ code: 0, err: "", result: "worked", other: "unharmed", lines: [] })
    },
    30 * seconds,
  )

  it(
    "derived from a failed step that nobody awaits is logged, and everybody goes on",
    async () => {
      const { code, out, err } = await run("step that nobody awaits")
      expect({ code, err, result: out?.result, other: out?.other }).toEqual({ code: 0, err: "", result: "worked", other: "unharmed" })
      expect(out?.lines).toHaveLength(1)
      expect(out?.lines[0]).toContain("forgotten in step that nobody awaits")
    },
    30 * seconds,
  )

  it(
    "of a step itself is handled: it is in the journal",
    async () => {
      const { code, out, err } = await run("ask that nobody looks at")
      expect({ code, err, ...out }).toEqual({ code: 0, err: "", result: "worked", other: "unharmed", lines: [] })
    },
    30 * seconds,
  )

  it.each(["foreign code", "foreign code after the engine closed"])(
    "in %s ends the process, as it would without us",
    async (place) => {
      const { code, err, out } = await run(place)
      expect(code).toBe(1)
      expect(err).toContain(`Error: forgotten in ${place}`)
      expect(out === undefined).toBe(place === "foreign code")
    },
    30 * seconds,
  )

  it(
    "of nothing at all leaves no line",
    async () => {
      const { code, out, err } = await run("nowhere")
      expect({ code, err, ...out }).toEqual({ code: 0, err: "", result: "worked", other: "unharmed", lines: [] })
    },
    30 * seconds,
  )
})
