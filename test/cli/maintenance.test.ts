// Commands that work on the file of a database as a whole.

import { existsSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync, closeSync, statSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Engine } from "perdure"
import { afterEach, describe, expect, it } from "vitest"
import { laterPerdure, ProjectBed } from "./project-bed.ts"
import { lend, shelf } from "./shelf.ts"

let project: ProjectBed
let engine: Engine | undefined
afterEach(async () => {
  await engine?.close()
  engine = undefined
  await project.close()
})

async function working(count = 2): Promise<Engine> {
  project = new ProjectBed()
  engine = await project.engine(shelf)
  await lendOut(engine, 0, count)
  return engine
}

async function lendOut(on: Engine, from: number, to: number): Promise<void> {
  for (let i = from; i < to; i++) await on.start(lend, { id: `book-${i}`, input: { book: "x".repeat(2_000) } })
}

async function resting(count = 2): Promise<void> {
  await (await working(count)).close()
  engine = undefined
}

const path = (name: string) => join(project.folder, name)
const idsIn = async (file: string) =>
  (await project.json<{ instances: { id: string }[] }>("list", "--db", file, "--limit", "1000")).instances.map(({ id }) => id)

describe("perdure backup", () => {
  it("copies a database that is being written to: one moment of it, whole", async () => {
    const worker = await working(20)
    let isWriting = true
    const writing = (async () => {
      for (let i = 20; isWriting; i++) await lendOut(worker, i, i + 1)
    })()
    const copied = await project.run(["backup", "copy.db"])
    isWriting = false
    await writing
    expect(copied).toMatchObject({ code: 0, stderr: "" })
    expect(copied.stdout).toMatch(/^[\d.]+ [KM]iB copied to copy.db, and checked\n$/)
    const ids = await idsIn("copy.db")
    expect(ids.length).toBeGreaterThanOrEqual(20)
    // The copy contains all instances up to its newest one, without a gap.
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, i) => `book-${ids.length - 1 - i}`))
    expect(readdirSync(project.folder).filter((name) => name.startsWith("copy.db."))).toEqual([])
  })

  it("is one file, which is read without anything beside it", async () => {
    await resting()
    await project.call("backup", "copies/copy.db")
    const read = new DatabaseSync(path("copies/copy.db"), { readOnly: true })
    expect(read.prepare("SELECT count(*) AS count FROM perdure_instance").get()).toEqual({ count: 2 })
    expect(readdirSync(path("copies"))).toEqual(["copy.db"])
    read.close()
  })

  it("refuses to overwrite, unless it is told to", async () => {
    await resting()
    writeFileSync(path("copy.db"), "mine")
    expect(await project.call("backup", "copy.db")).toMatchObject({ code: 1, stderr: expect.stringContaining("is there already") as string })
    expect(readFileSync(path("copy.db"), "utf8")).toBe("mine")
    expect(await project.json("backup", "copy.db", "--force")).toMatchObject({ file: path("copy.db") })
    expect(await idsIn("copy.db")).toHaveLength(2)
    expect((await project.call("backup", "perdure.db", "--force")).code).toBe(2)
  })

  it("says so where there is nothing to copy", async () => {
    project = new ProjectBed()
    expect(await project.call("backup", "copy.db")).toMatchObject({ code: 4, stderr: expect.stringContaining("there is no file") as string })
    new DatabaseSync(path("mine.db")).exec("CREATE TABLE t (a)")
    expect((await project.call("backup", "copy.db", "--db", "mine.db")).stderr).toContain("is not a database of Perdure")
    expect(existsSync(path("copy.db"))).toBe(false)
  })
})

describe("perdure restore", () => {
  it("puts a backup in the place of a database, which is kept aside", async () => {
    await resting()
    await project.call("backup", "copy.db")
    const again = await project.engine(shelf)
    await lendOut(again, 2, 5)
    await again.close()
    expect((await project.call("restore", "copy.db")).stderr).toContain("with --force it is kept aside")
    expect(await idsIn("perdure.db")).toHaveLength(5)
    const { keptAside } = await project.json<{ keptAside: string }>("restore", "copy.db", "--force")
    expect(await idsIn("perdure.db")).toEqual(["book-1", "book-0"])
    expect(await idsIn(keptAside)).toHaveLength(5)
  })

  it("what was restored goes on where it was", async () => {
    await resting()
    await project.call("backup", "copy.db")
    expect(await project.call("restore", "copy.db", "--db", "other.db")).toMatchObject({ code: 0, stdout: `restored to ${path("other.db")}\n` })
    await project.call("restore", "copy.db", "--force")
    engine = await project.engine(shelf)
    await engine.get("book-1").sendEvent("returned")
    expect(await engine.get("book-1").result()).toContain("shelf of x")
  })

  it("refuses while a worker has the database, and leaves it as it is", async () => {
    const worker = await working()
    await project.call("backup", "copy.db")
    await lendOut(worker, 2, 3)
    const refused = await project.run(["restore", "copy.db", "--force"])
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("WORKER_RUNNING") as string })
    expect(await idsIn("perdure.db")).toHaveLength(3)
  })

  it("refuses what is no backup, is damaged, or is too new", async () => {
    await resting(40)
    await project.call("backup", "copy.db")
    const before = readFileSync(project.db)
    writeFileSync(path("text.db"), "not a database at all, but long enough to be looked at ".repeat(20))
    expect((await project.call("restore", "text.db", "--force")).code).toBe(4)
    expect((await project.call("restore", "nothing.db", "--force")).code).toBe(2)
    const newer = new DatabaseSync(path("copy.db"))
    newer.exec("UPDATE perdure_meta SET version = 90, compatible = 90")
    newer.close()
    expect((await project.call("restore", "copy.db", "--force")).stderr).toContain("DATABASE_TOO_NEW")
    await project.call("backup", "bad.db")
    damage(path("bad.db"))
    const refused = await project.call("restore", "bad.db", "--force")
    expect(refused.stderr).toContain("DATABASE_CORRUPT")
    expect(readFileSync(project.db).equals(before)).toBe(true)
    expect(readdirSync(project.folder).filter((name) => /restored|before|partial/.test(name))).toEqual([])
  })
})

describe("perdure migrate", () => {
  it("says what would be done, does it, and has nothing to do after that", async () => {
    await resting()
    const migrate = (...options: string[]) => project.run(["migrate", ...options], laterPerdure)
    const dry = JSON.parse((await migrate("--dry-run", "--json")).stdout) as unknown
    expect(dry).toMatchObject({ before: 1, newest: 2, pending: [{ version: 2, statements: 4 }] })
    expect((await migrate("--dry-run")).stdout).toMatch(/^schema version 1; to be done:\n {2}version 2: 4 statements\nBack it up first/)
    expect(await migrate()).toEqual({ code: 0, stdout: `migrated from schema version 1 to 2\n`, stderr: "" })
    expect((await migrate()).stdout).toBe(`schema version 2, the newest; nothing to do\n`)
    expect((await project.call("migrate")).stdout).toBe("schema version 2, newer than the 1 of this perdure, which it may work with; nothing to do\n")
    engine = await project.engine(shelf)
    await engine.get("book-0").sendEvent("returned")
    expect(await engine.get("book-0").result()).toContain("shelf of")
  })

  it("leaves a database alone that is too new, and one that is not ours", async () => {
    await resting()
    const database = new DatabaseSync(project.db)
    database.exec("UPDATE perdure_meta SET version = 90, compatible = 90; CREATE TABLE mine (a)")
    database.close()
    expect(await project.call("migrate")).toMatchObject({ code: 4, stderr: expect.stringContaining("DATABASE_TOO_NEW") as string })
    new DatabaseSync(path("mine.db")).exec("CREATE TABLE t (a)")
    expect((await project.call("migrate", "--db", "mine.db")).stderr).toContain("it was not changed")
  })
})

describe("perdure doctor", () => {
  interface Report {
    readonly ok: boolean
    readonly findings: readonly { readonly name: string; readonly level: string; readonly message: string; readonly way?: string }[]
  }
  const findings = async (...args: string[]) => {
    const { findings: all, ok } = await project.json<Report>("doctor", ...args)
    return { ok, of: (name: string) => all.find((finding) => finding.name === name) }
  }

  it("finds nothing wrong where nothing is, and names the process that executes", async () => {
    await working()
    const { ok, of } = await findings()
    expect(ok).toBe(true)
    for (const name of ["node", "sqlite", "permissions", "disk", "schema", "integrity", "stalled", "overdue", "journals", "hono"])
      expect(of(name)).toMatchObject({ level: "ok" })
    expect(of("worker")?.message).toMatch(
      process.platform === "linux" ? new RegExp(`^a process executes the workflows: ${process.pid} \\(.*node`) : /^a process executes/,
    )
    expect(of("journals")?.message).toMatch(/^the longest of an open instance: book-\d, [\d.]+ KiB in \d+ entries/)
    const shown = await project.call("doctor")
    expect(shown.code).toBe(0)
    expect(shown.stdout).toMatch(/^ok {3}node: Node \d+/)
  })

  it("warns of what waits for somebody, with the way out", async () => {
    await resting()
    const database = new DatabaseSync(project.db)
    database.exec("UPDATE perdure_instance SET status = 'stalled' WHERE id = 'book-0'; UPDATE perdure_instance SET due_at = 1 WHERE id = 'book-1'")
    database.close()
    const { ok, of } = await findings()
    expect(ok).toBe(true)
    expect(of("stalled")).toMatchObject({ level: "warn", message: "1 stalled: book-0", way: expect.stringContaining("perdure why") as string })
    expect(of("overdue")).toMatchObject({ level: "warn", message: expect.stringMatching(/^1 due and not taken, for up to \d+d.*; such as book-1$/) as string })
    expect(of("worker")).toMatchObject({ level: "warn", message: "no process executes the workflows" })
    const later = await project.run(["doctor"], laterPerdure)
    expect(later.stdout).toContain("warn schema: version 1, and this perdure has 2")
    expect((await project.call("doctor")).stdout).toMatch(/warn stalled: 1 stalled: book-0\n {5}→ perdure why <id> says what each needs/)
  })

  it("fails for a damaged file, one that is not ours, and one that is not there", async () => {
    await resting(40)
    await project.call("backup", "bad.db")
    damage(path("bad.db"))
    expect(await project.call("doctor", "--db", "bad.db")).toMatchObject({ code: 1, stdout: expect.stringMatching(/fail (integrity|database): /) as string })
    new DatabaseSync(path("mine.db")).exec("CREATE TABLE t (a)")
    expect((await findings("--db", "mine.db")).of("schema")).toMatchObject({ level: "fail", message: "the file has no tables of Perdure" })
    expect((await findings("--db", "none.db")).of("file")).toMatchObject({ level: "fail" })
    expect(existsSync(path("none.db"))).toBe(false)
  })

  it("says whether a server answers", async () => {
    project = new ProjectBed()
    const { ok, of } = await findings("--url", "http://127.0.0.1:9")
    expect(ok).toBe(false)
    expect(of("server")).toMatchObject({ level: "fail", way: "start it, or give another --url" })
  })
})

/** Overwrites pages in the middle. */
function damage(file: string): void {
  const { size } = statSync(file)
  const handle = openSync(file, "r+")
  for (let at = 8_192; at < size; at += 16_384) writeSync(handle, Buffer.alloc(2_048, 0xa5), 0, 2_048, at)
  closeSync(handle)
}
