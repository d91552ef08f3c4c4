// The CLI as a process of its own, beside the process that executes workflows.

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { CliBed } from "./cli-bed.ts"
import { CommandProcess, environment, mainScript } from "./command-process.ts"

let bed: CliBed

const perdure = (...args: readonly string[]) => CommandProcess.perdure(bed, environment(bed), ...args)

beforeAll(async () => {
  bed = await CliBed.open()
  for (let n = 0; n < 300; n++) await bed.engine.start("order", { id: `order-${n}`, input: { n } })
})

afterAll(() => bed.close())

describe("the process", () => {
  it("starts what another process executes, and prints its result", async () => {
    const { code, stdout, stderr } = await perdure("start", "order", '{"n":1,"paid":true}', "--id", "p-1", "--wait").answer
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '{\n  "n": 1,\n  "amount": 0\n}\n', stderr: "started p-1\n" })
  })

  it("exits with the code of what went wrong", async () => {
    expect(await perdure("show", "nobody").answer).toMatchObject({ code: 3, stdout: "" })
  })

  it("ends without a word when nobody reads on", async () => {
    const shell = `set -o pipefail; "${process.execPath}" "${mainScript}" list --all --json | head -n 1`
    const { code, stdout, stderr } = await new CommandProcess(bed, "bash", ["-c", shell]).answer
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout.split("\n")).toHaveLength(2)
  })

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("ends cleanly on %s", async (signal, code) => {
    const tail = perdure("tail", "order-1", "--json")
    await tail.printed(/workflow\.started/)
    tail.kill(signal)
    expect(await tail.answer).toMatchObject({ code, signal: null, stderr: "" })
  })

  it("follows what happens in another process, and goes on from a cursor", async () => {
    const tail = perdure("tail", "order-2", "--until-end", "--json")
    await tail.printed(/workflow\.started/)
    await bed.engine.get("order-2").sendEvent("payment", { amount: 2 })
    const { code, stdout } = await tail.answer
    expect(code).toBe(0)
    const changes = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; cursor: string })
    expect(changes.map(({ type }) => type)).toEqual([
      "workflow.started",
      "step.started",
      "step.started",
      "step.completed",
      "step.completed",
      "event.received",
      "event.consumed",
      "workflow.completed",
    ])
    const rest = await bed.perdure(["tail", "order-2", "--until-end", "--json", "--since", changes[4]?.cursor ?? ""])
    expect(rest.stdout.trimEnd().split("\n")).toHaveLength(3)
    expect(await bed.perdure(["tail", "nobody"])).toMatchObject({ code: 3 })
    expect(await bed.perdure(["tail", "--since", "bogus"])).toMatchObject({ code: 2 })
  })

  it("watches a list, one line for each change", async () => {
    await bed.engine.start("order", { id: "watched", input: { n: 1 } })
    await bed.until("watched", "waiting")
    const list = perdure("list", "--watch", "--id-prefix", "watched")
    await list.printed(/watched {2}order@1 {2}waiting/)
    await bed.engine.get("watched").sendEvent("payment", { amount: 1 })
    await list.printed(/watched {2}order@1 {2}completed/)
    list.kill("SIGINT")
    const { code, stdout } = await list.answer
    expect(code).toBe(130)
    expect(stdout.trimEnd().split("\n").length).toBeLessThan(4)
  })

  it("loads neither the engine nor a store for help", async () => {
    const hook = bed.file(
      "hook.mjs",
      `import { registerHooks } from "node:module"\nregisterHooks({ load(url, context, next) { process.stderr.write(url + "\\n"); return next(url, context) } })\n`,
    )
    const { code, stderr } = await new CommandProcess(bed, process.execPath, ["--import", hook, mainScript, "--help"]).answer
    expect(code).toBe(0)
    const loaded = stderr.split("\n").filter((url) => url.includes("/src/") && !url.includes("/node_modules/"))
    expect(loaded.length).toBeGreaterThan(5)
    expect(loaded.filter((url) => /\/src\/(engine|stores|hosts|index|cli\/commands)/.test(url))).toEqual([])
  })
})
