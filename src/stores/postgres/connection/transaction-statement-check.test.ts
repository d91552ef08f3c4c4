import { describe, expect, it } from "vitest"
import { checkStatement } from "./transaction-statement-check.ts"

const isRefused = (text: string) => {
  try {
    checkStatement(text)
    return false
  } catch (error) {
    expect(error).toMatchObject({ code: "SQL_REFUSED", details: { sql: text } })
    return true
  }
}

describe("statements of a transaction", () => {
  it.each([
    "BEGIN",
    "begin work",
    "START TRANSACTION READ ONLY",
    "COMMIT",
    "END",
    "ABORT",
    "ROLLBACK",
    "ROLLBACK WORK",
    "PREPARE TRANSACTION 'a'",
    "-- so\nCOMMIT",
    "/* so */ COMMIT",
    "INSERT INTO a VALUES (';'); commit",
    "SET search_path = x",
    "SET SESSION x = 1",
    "RESET ALL",
    "LISTEN a",
    "DISCARD ALL",
  ])("%s is refused", (text) => {
    expect(isRefused(text)).toBe(true)
  })

  it.each([
    "SELECT 1",
    "SAVEPOINT a",
    "ROLLBACK TO a",
    "ROLLBACK TO SAVEPOINT a",
    "ROLLBACK WORK TO a",
    "RELEASE a",
    "SET LOCAL search_path = x",
    "SET CONSTRAINTS ALL DEFERRED",
    "PREPARE a AS SELECT 1",
    "INSERT INTO a VALUES ('; COMMIT')",
    'SELECT "; commit" FROM a',
    "DO $$ BEGIN PERFORM 1; END $$",
    "DO $body$ BEGIN PERFORM 1; END $body$",
    "SELECT 1 -- ; commit",
    "NOTIFY a",
    "",
  ])("%s is not", (text) => {
    expect(isRefused(text)).toBe(false)
  })
})
