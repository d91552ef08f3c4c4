import { describe, expect, it } from "vitest"
import { PerdureError } from "../../../core/errors.ts"
import { isUnreachable, postgresFailure } from "./postgres-failure.ts"

const server = 'db:5432, database "app"'
const coded = (code: string, message: string) => Object.assign(new Error(message), { code })
const failed = (cause: unknown, statement?: string) => postgresFailure(cause, { server, statement }) as PerdureError

describe("failures of PostgreSQL", () => {
  it("a server that is not there: nothing was done", () => {
    const failure = failed(coded("ECONNREFUSED", "connect ECONNREFUSED 127.0.0.1:5432"))
    expect(failure).toMatchObject({ code: "STORE_UNREACHABLE", details: { server, doing: "connecting", reason: "ECONNREFUSED", isUnknown: false } })
    expect(failure.message).toBe(
      'PostgreSQL (db:5432, database "app") did not answer while connecting (connect ECONNREFUSED 127.0.0.1:5432); check that the server runs and can be reached; nothing was done; try again',
    )
    expect(isUnreachable(failure)).toBe(true)
  })

  it("a connection that is lost after something was sent: it may have been done", () => {
    for (const cause of [coded("57P01", "terminating connection"), new Error("Connection terminated unexpectedly"), new Error("Query read timeout")]) {
      const failure = failed(cause, "write")
      expect(failure).toMatchObject({ code: "STORE_UNREACHABLE", cause, details: { doing: "committing turns", isUnknown: true } })
      expect(failure.message).toContain("it is not known whether that was done")
    }
  })

  it("what the server refuses has its code, the place and what to do", () => {
    expect(failed(coded("53100", "could not extend file"), "write")).toMatchObject({ code: "DISK_FULL", details: { postgresCode: "53100", server } })
    expect(failed(coded("28P01", "password authentication failed"))).toMatchObject({ code: "DATABASE_UNREADABLE" })
    expect(failed(coded("42501", "permission denied"), "claim")).toMatchObject({ code: "READ_ONLY", details: { doing: "claiming instances" } })
    expect(failed(coded("40001", "could not serialize access"), "claim").message).toContain("because of concurrent transactions")
    expect(failed(coded("XX000", "odd"), "flow-take").message).toBe('PostgreSQL (db:5432, database "app") failed while executing "flow-take" (XX000: odd)')
  })

  it("what has nothing to do with a server stays what it is", () => {
    const bug = new TypeError("x is not a function")
    expect(failed(bug)).toBe(bug)
    const known = new PerdureError("ENGINE_CLOSED", "closed")
    expect(failed(known)).toBe(known)
  })
})
