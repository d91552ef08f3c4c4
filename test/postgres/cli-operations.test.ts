// What the command line does to a PostgreSQL database itself: it executes, checks, moves instances, migrates, and diagnoses.

import { join } from "node:path"
import { type Engine, Perdure } from "perdure"
import { postgres } from "perdure/postgres"
import { afterEach, beforeEach, expect, it } from "vitest"
import { EmptyDatabase } from "../../tools/postgres/empty-database.ts"
import { ProjectBed } from "../cli/project-bed.ts"
import { lend, lendModule, shelf } from "../cli/shelf.ts"

let database: EmptyDatabase
let project: ProjectBed
const open: Engine[] = []

beforeEach(async () => {
  project = new ProjectBed()
  database = new EmptyDatabase()
  await database.create()
})
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
  await project.close()
  await database.drop()
})

const call = (...args: readonly string[]) => project.call(...args, "--db", database.url)
const engine = (role: "worker" | "client" = "worker") => Perdure.open({ store: postgres({ connectionString: database.url }), workflows: shelf, role })

/** Creates waiting instances, and stops their worker. */
async function withInstances(...ids: readonly string[]): Promise<void> {
  const worker = await engine()
  for (const id of ids) await worker.start(lend, { id, input: { book: id } })
  await expect.poll(() => worker.count({}, "status")).toEqual({ waiting: ids.length })
  await worker.close()
}

interface Report {
  readonly ok: boolean
  readonly findings: readonly { readonly name: string; readonly level: string; readonly message: string }[]
}

it("worker executes until it is told to stop, beside others, and shows no password", async () => {
  project.module("workflows.ts", lendModule())
  const client = await engine("client")
  open.push(client)
  const workers = [project.start(["worker", "--db", database.url]), project.start(["worker", "--db", database.url, "--json"])]
  for (const worker of workers) await worker.said("stdout", /lend@1/)
  const handle = await client.start(lend, { id: "a", input: { book: "a" } })
  await handle.sendEvent("returned")
  expect(await handle.result()).toBe("shelf of a")
  const report = JSON.parse((await call("doctor", "--json")).stdout) as Report
  expect(report.findings.find(({ name }) => name === "workers")).toMatchObject({ level: "ok", message: "2 processes execute the workflows" })
  for (const worker of workers) worker.signal("SIGTERM")
  expect(await Promise.all(workers.map(({ ended }) => ended))).toEqual([0, 0])
  const { password, host } = new URL(database.url)
  for (const { stdout, stderr } of workers) {
    expect(stdout).toContain(host)
    expect(stdout + stderr).not.toContain(password)
  }
})

it("check names what code would stall, and changes nothing", async () => {
  await withInstances("a", "b")
  const written = () => database.query("SELECT (SELECT count(*) FROM perdure.journal) AS turns, (SELECT max(updated_at) FROM perdure.instance) AS at")
  const before = await written()
  project.module("workflows.ts", lendModule())
  const fits = await project.run(["check", "--db", database.url])
  expect(fits).toMatchObject({ code: 0, stderr: "" })
  expect(fits.stdout).toMatch(/^2 instances fit/)
  project.module("workflows.ts", lendModule("get"))
  const { code, stdout } = await project.run(["check", "--db", database.url])
  expect(code).toBe(1)
  expect(stdout).toContain('stalls a (lend@1): the journal has step "fetch" at position 2, but the code asks for step "get"')
  expect(await written()).toEqual(before)
})

it("export and import move instances from one store to another, between SQLite and PostgreSQL, too", async () => {
  await withInstances("a", "b")
  expect(await call("export", "--all", "--out", "out.jsonl")).toMatchObject({ code: 0, stdout: "2 instances exported to out.jsonl\n" })
  const file = join(project.folder, "out.jsonl")
  expect(await project.call("import", file, "--db", project.db)).toMatchObject({ code: 0, stdout: "a is imported, paused\nb is imported, paused\n" })
  expect(await project.call("export", "a", "--db", project.db, "--out", "back.jsonl")).toMatchObject({ code: 0 })
  const back = await call("import", join(project.folder, "back.jsonl"), "--id", "copy", "--resume")
  expect(back).toMatchObject({ code: 0, stdout: "copy is imported, paused\n" })
  const refused = await call("import", file)
  expect(refused.stdout).toMatch(/not imported a: .*\nnot imported b: /)
  const worker = await engine()
  await worker.get("copy").resume()
  await worker.get("copy").sendEvent("returned")
  expect(await worker.get("copy").result()).toBe("shelf of a")
  await worker.close()
})

it("migrate makes and migrates the tables as a step of its own, and says what it would do", async () => {
  const dry = await call("migrate", "--dry-run")
  expect(dry).toMatchObject({ code: 0, stderr: "" })
  expect(dry.stdout).toMatch(/^schema version 0; to be done:\n {2}version 1: \d+ statements\n/)
  expect(dry.stdout).toContain("pg_dump")
  expect((await call("migrate")).stdout).toMatch(/^made the tables, of schema version \d+\n$/)
  expect((await call("migrate")).stdout).toMatch(/^schema version \d+, the newest; nothing to do\n$/)
  expect(await call("list")).toMatchObject({ code: 0 })
  await database.query("UPDATE perdure.meta SET version = 999, compatible = 999")
  const tooNew = await call("migrate")
  expect(tooNew.stderr).toContain("DATABASE_TOO_NEW")
  expect(tooNew.code).not.toBe(0)
})

it("doctor tells of the server, the schema, the workers, and what is stalled, overdue or held open", async () => {
  const report = async () => JSON.parse((await call("doctor", "--json")).stdout) as Report
  expect(await report()).toMatchObject({ ok: false })
  await withInstances("a", "b")
  const levels = async () => Object.fromEntries((await report()).findings.map(({ name, level }) => [name, level]))
  expect(await levels()).toMatchObject({ server: "ok", clock: "ok", schema: "ok", transactions: "ok", workers: "warn", stalled: "ok", overdue: "ok" })
  await database.query("UPDATE perdure.instance SET status = 'stalled' WHERE id = 'a'")
  await database.query("UPDATE perdure.instance SET due_at = 1 WHERE id = 'b'")
  expect(await levels()).toMatchObject({ stalled: "warn", overdue: "warn" })
  const { findings } = await report()
  expect(findings.find(({ name }) => name === "stalled")?.message).toBe("1 stalled: a")
  expect(findings.find(({ name }) => name === "overdue")?.message).toMatch(/^1 due and not taken, for up to .*; such as b$/)
})

it("backup and restore say plainly what to use instead", async () => {
  for (const args of [
    ["backup", "copy.db"],
    ["restore", "copy.db"],
  ]) {
    const { code, stderr } = await call(...args)
    expect(code).toBe(2)
    expect(stderr).toContain("pg_dump")
  }
})
