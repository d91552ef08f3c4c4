import { types } from "pg"
import { expect, it } from "vitest"
import { Database } from "./database.ts"
import type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from "./pg.ts"

/** A pool of one connection that answers as it is told. */
function poolOf(answer: (query: PostgresQuery) => Promise<PostgresResult>): PostgresPool {
  const client = { query: answer, on: () => client, off: () => client, release: () => undefined } as unknown as PostgresClient
  return { connect: async () => client, end: async () => undefined, on: () => undefined }
}

it("what a statement was sent with is let go when it is answered, and is whole each time it is sent", async () => {
  const sent: { readonly values: unknown[]; readonly whole: unknown[] }[] = []
  const database = new Database(
    poolOf(async ({ values = [] }) => {
      sent.push({ values, whole: [...values] })
      if (sent.length === 1) throw Object.assign(new Error("deadlock detected"), { code: "40P01" })
      return { rows: [{ answer: 1 }], rowCount: 1 }
    }),
    types,
    "perdure",
  )
  expect(await database.get("write", "SELECT $1, $2", "a long text", 2)).toEqual({ answer: 1 })
  expect(sent.map(({ whole }) => whole)).toEqual([
    ["a long text", 2],
    ["a long text", 2],
  ])
  expect(sent.map(({ values }) => values)).toEqual([[], []])
})

it("the same where it fails", async () => {
  let sent: unknown[] = []
  const database = new Database(
    poolOf(async ({ values = [] }) => {
      sent = values
      throw Object.assign(new Error("syntax error"), { code: "42601" })
    }),
    types,
    "perdure",
  )
  await expect(database.all("write", "SELECT $1", "a long text")).rejects.toThrow("syntax error")
  expect(sent).toEqual([])
})
