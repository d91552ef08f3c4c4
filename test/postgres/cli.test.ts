// The command line on a PostgreSQL database.

import { randomBytes } from "node:crypto"
import { type Engine, Perdure } from "perdure"
import { postgres } from "perdure/postgres"
import pg from "pg"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { CliBed } from "../cli/cli-bed.ts"
import { shop } from "../cli/shop.ts"

const name = `cli_${randomBytes(6).toString("hex")}`
const url = new URL(inject("databaseUrl"))
url.pathname = `/${name}`
const db = url.href

const bed = new CliBed()
const admin = new pg.Client({ connectionString: inject("databaseUrl") })
let engine: Engine | undefined

beforeAll(async () => {
  await admin.connect()
  await admin.query(`CREATE DATABASE ${name}`)
})

afterAll(async () => {
  await engine?.close()
  await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)
  await admin.end()
  await bed.close()
})

it("makes no tables where there are none", async () => {
  const answer = await bed.perdure(["list", "--db", db])
  expect(answer).toMatchObject({ code: 4, stdout: "" })
  expect(answer.stderr).toMatch(/^error NO_DATABASE: the PostgreSQL database of --db has no tables of Perdure; nothing was changed in it\n$/)
  const client = new pg.Client({ connectionString: db })
  await client.connect()
  expect((await client.query("SELECT 1 FROM pg_namespace WHERE nspname = 'perdure'")).rows).toEqual([])
  await client.end()
})

it("says that nobody is there, and nothing of the password", async () => {
  const answer = await bed.perdure(["list", "--db", "postgresql://ada:secret@127.0.0.1:1/app"])
  expect(answer).toMatchObject({ code: 4, stdout: "" })
  expect(answer.stderr).toMatch(/^error NO_DATABASE: PostgreSQL at "127\.0\.0\.1:1\/app" cannot be used: /)
  expect(answer.stderr).not.toContain("secret")
})

it("starts, lists, follows and shows what others execute", async () => {
  engine = await Perdure.open({ store: postgres({ connectionString: db }), workflows: shop })
  expect(await bed.perdure(["start", "order", '{"n":1,"paid":true}', "--version", "1", "--id", "o-1", "--wait", "--db", db])).toMatchObject({
    code: 0,
    stdout: '{\n  "n": 1,\n  "amount": 0\n}\n',
  })
  expect((await bed.perdure(["list"], { env: { PERDURE_DB: db } })).stdout).toMatch(/^o-1 +order@1 +completed/m)
  expect((await bed.perdure(["show", "o-1", "--db", db])).stdout).toMatch(/^ {2}lock +█/m)
  const tail = await bed.perdure(["tail", "o-1", "--until-end", "--db", db])
  expect(tail.stdout.trimEnd().split("\n").at(-1)).toMatch(/o-1 +workflow\.completed {2}order@1$/)
})
