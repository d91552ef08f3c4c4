// The CLI in a real pseudo-terminal: colours, questions, progress bars, moving output, and Ctrl-C.

import { chmodSync, mkdirSync } from "node:fs"
import { delimiter, join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { CliBed } from "./cli-bed.ts"
import { environment, mainScript } from "./command-process.ts"
import { bare, Terminal } from "./terminal.ts"

const ctrlC = "\u0003"

let bed: CliBed
const open: Terminal[] = []

const perdure = (args: readonly string[], options?: { readonly columns?: number; readonly env?: Record<string, string> }) => {
  const terminal = Terminal.perdure(bed, args, options)
  open.push(terminal)
  return terminal
}

beforeAll(async () => {
  bed = await CliBed.open()
  await bed.engine.start("refund", { id: "refund-1", input: { n: 1 } })
  await bed.engine
    .get("refund-1")
    .result()
    .catch(() => undefined)
  await bed.engine.start("order", { id: "an-order-with-an-id-that-is-rather-long-for-a-terminal", input: { n: 1, paid: true }, tags: ["a-tag", "another-tag"] })
})

afterEach(() => {
  for (const terminal of open.splice(0)) terminal.kill()
})

afterAll(() => bed.close())

async function waiting(number: number, tag: string): Promise<void> {
  for (let n = 0; n < number; n++) await bed.engine.start("order", { id: `${tag}-${n}`, input: { n }, tags: [tag] })
  for (let n = 0; n < number; n++) await bed.until(`${tag}-${n}`, "waiting")
}

describe("a terminal", () => {
  it("gets colours, unless NO_COLOR says otherwise", async () => {
    const colourful = perdure(["list"])
    const plain = perdure(["list"], { env: { NO_COLOR: "1" } })
    expect(await Promise.all([colourful.exited, plain.exited])).toEqual([0, 0])
    expect(colourful.output).toContain("\u001b[31mfailed")
    expect(bare(plain.output)).toBe(plain.output)
  })

  it.each([60, 80, 120])("of %i columns is not overrun", async (columns) => {
    const list = perdure(["list"], { columns })
    const show = perdure(["show", "refund-1"], { columns })
    expect(await Promise.all([list.exited, show.exited])).toEqual([0, 0])
    const widths = (text: string) =>
      bare(text)
        .trimEnd()
        .split("\n")
        .map((line) => line.length)
    expect(Math.max(...widths(list.output))).toBeLessThanOrEqual(columns)
    const drawn = bare(show.output).split("\n\n")[1] ?? ""
    expect(Math.max(...widths(drawn))).toBe(columns)
    expect(drawn).toMatch(/^pay back +█*╳.*╳ {2}failed \d+ms ×2$/m)
    const row =
      columns < 120
        ? /^an-order-.*… {2}order@.* {2}completed/m
        : /^an-order-with-an-id-that-is-rather-long-for-a-terminal {2}order@1 {3}completed.* a-tag, another-tag$/m
    expect(bare(list.output)).toMatch(row)
  })
})

describe("bulk", () => {
  it("asks, and does nothing without a yes", async () => {
    await waiting(2, "asked")
    const terminal = perdure(["bulk", "terminate", "--tag", "asked"])
    await terminal.shows(/Terminate 2 instances\?/)
    terminal.type("\r")
    expect(await terminal.exited).toBe(1)
    expect(bare(terminal.output)).toMatch(/Terminate 2 instances\? \[y\/N\] \n?\n?error NOT_CONFIRMED: nothing was done/)
    expect(await bed.engine.count({ tag: "asked" }, "status")).toMatchObject({ waiting: 2 })
  })

  it("shows how far it is once it may, and what became of it", async () => {
    await waiting(40, "many")
    const terminal = perdure(["bulk", "terminate", "--tag", "many"])
    await terminal.shows(/Terminate 40 instances\?/)
    terminal.type("y\r")
    expect(await terminal.exited).toBe(0)
    expect(bare(terminal.output)).toMatch(/100% █+ {2}40 of 40/)
    expect(bare(terminal.output).trimEnd()).toMatch(/40 of 40 instances: terminate accepted$/)
    expect(await bed.engine.count({ tag: "many" }, "status")).toMatchObject({ terminated: 40 })
  })

  it("can be left with Ctrl-C while it asks", async () => {
    await waiting(1, "left")
    const terminal = perdure(["bulk", "terminate", "--tag", "left"])
    await terminal.shows(/Terminate 1 instance\?/)
    terminal.type(ctrlC)
    expect(await terminal.exited).toBe(130)
    expect(await bed.engine.count({ tag: "left" }, "status")).toMatchObject({ waiting: 1 })
  })
})

describe("what moves", () => {
  it("tail follows until Ctrl-C, and says where to go on", async () => {
    const terminal = perdure(["tail"], { columns: 120 })
    // No signal says when the command listens, so the test starts instances until the command shows one.
    let n = 0
    while (!terminal.output.includes("workflow.completed")) {
      const handle = await bed.engine.start("order", { id: `tailed-${n++}`, input: { n, paid: true } })
      await handle.result()
    }
    terminal.type(ctrlC)
    expect(await terminal.exited).toBe(130)
    expect(bare(terminal.output)).toMatch(/^\d\d:\d\d:\d\d {2}tailed-\d+ +workflow\.completed {2}order@1$/m)
    expect(bare(terminal.output)).toMatch(/\ngo on with --since \S+\n$/)
  })

  it("list --watch is drawn in place, and leaves the cursor as it was", async () => {
    const terminal = perdure(["list", "--watch", "--workflow", "refund"])
    await terminal.shows(/refund-1/)
    const before = terminal.output.length
    await bed.engine.start("refund", { id: "refund-2", input: { n: 2 } })
    await terminal.shows(/refund-2/, before)
    terminal.type(ctrlC)
    expect(await terminal.exited).toBe(130)
    expect(terminal.output.startsWith("\u001b[?25l\u001b[H")).toBe(true)
    expect(terminal.output).not.toContain("\u001b[2J")
    expect(terminal.output.trimEnd().endsWith("\u001b[?25h")).toBe(true)
  })
})

describe("bash", () => {
  it("completes commands, options and the ids of instances", async () => {
    const bin = join(bed.folder, "bin")
    mkdirSync(bin)
    chmodSync(bed.file("bin/perdure", `#!/bin/sh\nexec "${process.execPath}" "${mainScript}" "$@"\n`), 0o755)
    await bed.engine.start("order", { id: "nightly:2026-01-01", input: { n: 1 } })
    const path = [bin, environment(bed)["PATH"]].join(delimiter)
    const terminal = new Terminal(bed, "bash", ["--norc", "--noprofile", "-i"], {
      columns: 200,
      env: { PATH: path, PS1: "$ ", TERM: "dumb", INPUTRC: "/dev/null" },
    })
    open.push(terminal)
    terminal.type("source <(perdure completion bash); echo re''ady\r")
    await terminal.shows(/ready/)
    const completed = async (typed: string, expected: RegExp) => {
      const from = terminal.output.length
      terminal.type(`${typed}\t`)
      await terminal.shows(expected, from)
      terminal.type("\u0015")
    }
    await completed("perdure sho", /perdure show /)
    await completed("perdure schedules tri", /perdure schedules trigger /)
    await completed("perdure list --stat", /perdure list --status /)
    await completed("perdure list --status wai", /--status waiting /)
    await completed("perdure show refund-1", /show refund-1 /)
    await completed("perdure why nightly:2", /why nightly:2026-01-01 /)
    await completed("perdure list --db perd", /--db perdure\.db/)
    terminal.type("exit\r")
    expect(await terminal.exited).toBe(0)
  })
})
