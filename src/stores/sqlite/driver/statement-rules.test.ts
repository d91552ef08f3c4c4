import { describe, expect, it } from "vitest"
import { checkObjectStatement, checkStatement } from "./statement-rules.ts"

const refusalOf = (sql: string): string | undefined => {
  try {
    checkStatement(sql)
    return undefined
  } catch (error) {
    expect(error).toMatchObject({ code: "SQL_REFUSED", details: { sql } })
    return (error as Error).message
  }
}

describe("statements of a transaction", () => {
  it.each([
    "SELECT 1",
    "  select * from \"order\" where note = 'it''s -- no comment; COMMIT'",
    "INSERT INTO note (text) VALUES (?) -- as it is;",
    "/* begin */ WITH a AS (SELECT 1) UPDATE note SET text = (SELECT * FROM a);",
    "VALUES (1), (2);  \n -- the end",
    'CREATE TABLE IF NOT EXISTS my_perdure_notes (a, [b;c], `d`, "e")',
    "CREATE TEMP TRIGGER t AFTER INSERT ON note BEGIN UPDATE note SET n = 1; DELETE FROM old; END",
    "SAVEPOINT mine",
    "ROLLBACK TO mine",
    "rollback transaction to savepoint mine",
    "RELEASE mine",
    "SELECT 'perdure_ is a prefix', 'the word perdure_instance'",
    "INSERT INTO note VALUES (x'00ff', :name, @other, $third, ?5)",
  ])("may be %s", (sql) => {
    expect(refusalOf(sql)).toBeUndefined()
  })

  it.each([
    ["BEGIN", "begins and ends the transaction"],
    ["commit", "begins and ends the transaction"],
    ["-- just\nEND TRANSACTION", "begins and ends the transaction"],
    ["/* a */ROLLBACK", "throw an error instead"],
    ["ROLLBACK TRANSACTION", "throw an error instead"],
    ["PRAGMA journal_mode = DELETE", "pragma_table_info"],
    ["ATTACH 'other.db' AS other", "a connection of your own"],
    ["DETACH other", "a connection of your own"],
    ["VACUUM INTO 'copy.db'", "a connection of your own"],
    ["SELECT 1; COMMIT", "make a call for each"],
    ["DELETE FROM note;;SELECT 1", "make a call for each"],
    ["DELETE FROM perdure_journal", "belong to the store"],
    ["SELECT * FROM main.PERDURE_instance", "belong to the store"],
    ['INSERT INTO "perdure_inbox" DEFAULT VALUES', "belong to the store"],
    ["DROP TABLE [perdure_meta]", "belong to the store"],
    ["UPDATE `perdure_lease` SET until = 0", "belong to the store"],
    ["DELETE FROM 'perdure_tag'", "belong to the store"],
    ["RELEASE perdure_step", "belong to the store"],
    ["", "is empty"],
    [" -- nothing", "is empty"],
  ])("may not be %s", (sql, why) => {
    expect(refusalOf(sql)).toContain(why)
  })

  it("are text", () => {
    expect(() => checkStatement(5 as unknown as string)).toThrow("is not text")
  })
})

describe("statements of a transaction in an object", () => {
  it.each(["INSERT OR  ROLLBACK INTO note (text) VALUES ('a')", "CREATE TRIGGER t AFTER INSERT ON note BEGIN SELECT raise (rollback, 'no'); END"])(
    "may not be what rolls back the storage itself: %s",
    (sql) => {
      expect(refusalOf(sql)).toBeUndefined()
      expect(() => checkObjectStatement(sql)).toThrow(expect.objectContaining({ code: "SQL_REFUSED", details: { sql } }))
    },
  )

  it("follow the rules for files in all else", () => {
    expect(() => checkObjectStatement("INSERT OR ABORT INTO note (text) VALUES ('a')")).not.toThrow()
    expect(() => checkObjectStatement("COMMIT")).toThrow(expect.objectContaining({ code: "SQL_REFUSED" }))
  })
})
