// Export and import: instances move from one database to another.

import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Engine } from "perdure"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { ProjectBed } from "./project-bed.ts"
import { lend, shelf } from "./shelf.ts"

let here: ProjectBed
let there: ProjectBed
let engine: Engine | undefined

beforeEach(async () => {
  here = new ProjectBed()
  there = new ProjectBed()
  const worker = await here.engine(shelf)
  for (const id of ["a", "b", "c"]) await worker.start(lend, { id, input: { book: id }, tags: [id === "c" ? "blue" : "red"] })
  await worker.get("c").sendEvent("returned")
  await worker.get("c").result()
  await vi.waitFor(async () => {
    if ((await worker.count({}, "status"))["waiting"] !== 2) throw new Error("not all of them wait yet")
  })
  await worker.close()
})
afterEach(async () => {
  await engine?.close()
  engine = undefined
  await here.close()
  await there.close()
})

const file = () => join(here.folder, "out.jsonl")
const lines = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; instance?: { id: string } })
const idsOf = (text: string) => lines(text).flatMap(({ type, instance }) => (type === "instance" ? [instance?.id] : []))

describe("perdure export", () => {
  it("writes instances by id, to stdout or to a file", async () => {
    const { stdout, stderr, code } = await here.call("export", "b", "a")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "2 instances exported\n" })
    expect(idsOf(stdout)).toEqual(["b", "a"])
    expect(lines(stdout)[0]).toMatchObject({ format: 1, state: { status: "waiting" } })
    expect(await here.call("export", "a", "b", "--out", "out.jsonl")).toMatchObject({ code: 0, stdout: "2 instances exported to out.jsonl\n" })
    expect(idsOf(readFileSync(file(), "utf8"))).toEqual(["a", "b"])
    expect((await here.call("export", "a", "--out", "out.jsonl")).code).toBe(1)
    expect(await here.json("export", "a", "--out", "out.jsonl", "--force")).toEqual({ exported: 1, file: file() })
  })

  it("writes those that options describe, or all", async () => {
    expect(idsOf((await here.call("export", "--tag", "red")).stdout)).toEqual(["a", "b"])
    expect(idsOf((await here.call("export", "--status", "completed")).stdout)).toEqual(["c"])
    expect(idsOf((await here.call("export", "--all")).stdout)).toEqual(["a", "b", "c"])
  })

  it("leaves no file behind where it fails, and says what is wrong", async () => {
    expect(await here.call("export", "a", "nobody", "--out", "out.jsonl")).toMatchObject({ code: 3 })
    expect([existsSync(file()), existsSync(`${file()}.partial`)]).toEqual([false, false])
    expect((await here.call("export")).code).toBe(2)
    expect((await here.call("export", "a", "--all")).code).toBe(2)
    expect((await here.call("export", "a", "--url", "http://127.0.0.1:9")).stderr).toContain("give --db")
  })
})

describe("perdure import", () => {
  it("brings instances into another database, paused if they are not over; resumed there they go on", async () => {
    await here.call("export", "--all", "--out", "out.jsonl")
    const { code, stdout } = await there.call("import", file())
    expect({ code, stdout }).toEqual({ code: 0, stdout: "a is imported, paused\nb is imported, paused\nc is imported, completed\n" })
    engine = await there.engine(shelf)
    expect(await engine.get("c").result()).toBe("shelf of c")
    await engine.get("a").sendEvent("returned")
    expect(await engine.get("a").status()).toBe("paused")
    await engine.get("a").resume()
    expect(await engine.get("a").result()).toBe("shelf of a")
  })

  it("lets them go on at once with --resume, and takes stdin", async () => {
    const { stdout } = await here.call("export", "a")
    writeFileSync(file(), stdout)
    expect((await there.call("import", file(), "--resume")).stdout).toBe("a is imported, waiting\n")
    engine = await there.engine(shelf)
    await engine.get("a").sendEvent("returned")
    expect(await engine.get("a").result()).toBe("shelf of a")
  })

  it("refuses an id that is there, goes on with the others, and makes a copy under another id", async () => {
    await here.call("export", "--all", "--out", "out.jsonl")
    await there.call("import", file())
    const again = await there.call("import", file(), "--json")
    expect(again.code).toBe(1)
    expect(
      again.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(["a", "b", "c"].map((id) => ({ imported: false, id, error: { code: "ID_EXISTS", message: expect.stringContaining("exists") as string } })))
    await here.call("export", "a", "--out", "out.jsonl", "--force")
    expect((await there.call("import", file(), "--id", "a2", "--resume")).stdout).toBe("a2 is imported, waiting\n")
    engine = await there.engine(shelf)
    await engine.get("a2").sendEvent("returned")
    expect(await engine.get("a2").result()).toBe("shelf of a")
    expect(await engine.get("a").status()).toBe("paused")
  })

  it("imports nothing of an instance whose lines were cut off", async () => {
    await here.call("export", "a", "--out", "out.jsonl")
    const text = readFileSync(file(), "utf8")
    writeFileSync(file(), text.slice(0, text.lastIndexOf('{"type":"end"')))
    expect(await there.call("import", file())).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('BAD_EXPORT: instance "a" has no end; the file was cut off') as string,
    })
    expect(await there.json("list")).toEqual({ instances: [] })
    writeFileSync(file(), "")
    expect((await there.call("import", file())).stderr).toContain("has no instances")
    expect((await there.call("import", "nothing.jsonl")).code).toBe(2)
  })
})
