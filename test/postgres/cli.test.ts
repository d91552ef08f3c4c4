// The calls of the command line on a PostgreSQL database. They execute no workflow.

import { type Engine, Perdure } from "perdure"
import { postgres } from "perdure/postgres"
import { afterAll, beforeAll, expect, it } from "vitest"
import { EmptyDatabase } from "../../tools/postgres/empty-database.ts"
import { CliBed } from "../cli/cli-bed.ts"
import { shop } from "../cli/shop.ts"

const database = new EmptyDatabase()
const db = database.url
const bed = new CliBed()
let engine: Engine | undefined

beforeAll(() => database.create())
afterAll(async () => {
  await engine?.close()
  await database.drop()
  await bed.close()
})

const perdure = (...args: readonly string[]) => bed.perdure([...args, "--db", db])

it("makes no tables where there are none", async () => {
  for (const command of [["list"], ["export", "--all"]]) {
    const answer = await perdure(...command)
    expect(answer).toMatchObject({ code: 4, stdout: "" })
    expect(answer.stderr).toMatch(/^error NO_DATABASE: the PostgreSQL database of --db has no tables of Perdure; nothing was changed in it\n$/)
  }
  expect((await perdure("migrate", "--dry-run")).code).toBe(0)
  expect((await perdure("doctor")).code).toBe(1)
  expect(await database.query("SELECT 1 FROM pg_namespace WHERE nspname = 'perdure'")).toEqual([])
})

it("refuses to make tables in a schema that no engine could open", async () => {
  const { code, stderr } = await bed.perdure(["migrate", "--db", `${db}?schema=pg_mine`])
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/BAD_OPTION: schema is .*; give a name of at most 40 letters/)
})

it("says that nobody is there, and nothing of the password", async () => {
  for (const command of [["list"], ["doctor"], ["migrate"], ["export", "--all"]]) {
    const { code, stdout, stderr } = await bed.perdure([...command, "--db", "postgresql://ada:secret@127.0.0.1:1/app"])
    expect([command[0], code]).toEqual([command[0], command[0] === "doctor" ? 1 : 4])
    expect(stdout + stderr).toMatch(/PostgreSQL at "127\.0\.0\.1:1\/app" cannot be used: /)
    expect(stdout + stderr).not.toContain("secret")
  }
})

it("starts, lists, follows and shows what others execute", async () => {
  engine = await Perdure.open({ store: postgres({ connectionString: db }), workflows: shop })
  expect(await perdure("start", "order", '{"n":1,"paid":true}', "--version", "1", "--id", "o-1", "--wait")).toMatchObject({
    code: 0,
    stdout: '{\n  "n": 1,\n  "amount": 0\n}\n',
  })
  expect((await bed.perdure(["list"], { env: { PERDURE_DB: db } })).stdout).toMatch(/^o-1 +order@1 +completed/m)
  expect((await perdure("show", "o-1")).stdout).toMatch(/^ {2}lock +█/m)
  const tail = await perdure("tail", "o-1", "--until-end")
  expect(tail.stdout.trimEnd().split("\n").at(-1)).toMatch(/o-1 +workflow\.completed {2}order@1$/)
})

it("has every command that asks: events, updates, controls, schedules, limits", async () => {
  const ok = async (...args: readonly string[]) => {
    const answer = await perdure(...args)
    expect({ args, code: answer.code, stderr: answer.stderr }).toEqual({ args, code: 0, stderr: "" })
    return answer.stdout
  }
  await ok("start", "order", '{"n":2}', "--version", "1", "--id", "o-2")
  await expect.poll(() => engine?.get("o-2").status()).toBe("waiting")
  expect(await ok("update", "o-2", "grant", "10")).toContain("10")
  // As on a file: the command line has no workflow code, so it cannot answer.
  expect((await perdure("query", "o-2", "discount")).stderr).toContain("NO_WORKER")
  expect(await ok("why", "o-2")).toContain("payment")
  await ok("pause", "o-2")
  await expect.poll(() => engine?.get("o-2").status()).toBe("paused")
  await ok("resume", "o-2")
  await ok("send", "o-2", "payment", '{"amount":5}')
  expect(await ok("result", "o-2")).toContain('"amount": 5')
  expect(await ok("history", "o-2")).toContain("event.received")
  expect(await ok("count")).toMatch(/completed +2/)
  await ok("fork", "o-2", "--id", "o-3", "--from", "payment")
  await ok("restart", "o-2")
  await ok("terminate", "o-3", "--reason", "enough")
  await ok("cancel", "o-2")
  await expect.poll(() => engine?.get("o-2").status()).toBe("cancelled")
  await ok("delete", "o-3")
  expect(await ok("list")).not.toContain("o-3")
  await ok("bulk", "delete", "--status", "cancelled", "--yes")
  expect(await ok("list")).not.toContain("o-2")
  await ok("schedules", "create", "hourly", "--workflow", "limited", "--version", "7", "--every", "1h")
  expect(await ok("schedules", "list")).toContain("hourly")
  expect(await ok("limits", "show", "limited")).toContain("3")
})

it("says that nobody executes, where no worker has a lease", async () => {
  await engine?.close()
  engine = undefined
  const answer = await perdure("start", "order", '{"n":3}', "--version", "1", "--id", "o-4")
  expect(answer).toMatchObject({ code: 0, stderr: "accepted; no worker is running on this database\n" })
})

it("finds a store in another schema, which the address names", async () => {
  const store = await postgres({ connectionString: db, schema: "elsewhere" }).open({ now: Date.now, log: console, role: "client" })
  await store.close()
  const other = `${db}?schema=elsewhere`
  expect(await bed.perdure(["list", "--db", other])).toMatchObject({ code: 0 })
  expect((await bed.perdure(["list", "--db", other])).stdout).not.toContain("o-1")
  expect((await bed.perdure(["list", "--db", `${db}?schema=nowhere`])).code).toBe(4)
})
