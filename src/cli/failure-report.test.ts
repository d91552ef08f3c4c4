import { describe, expect, it } from "vitest"
import { PerdureError } from "../core/errors.ts"
import { exitCodeOf, usageError } from "./exit-code.ts"
import { explained, failureReport } from "./failure-report.ts"
import { styleOf } from "./output/style.ts"
import { defaultTarget, type Target } from "./target/target.ts"

const plain = { asJson: undefined, debug: false, style: styleOf(false) }
const url = (from: string): Target => ({ kind: "url", url: "http://127.0.0.1:8787", from })
const unreachable = new PerdureError("UNREACHABLE", "http://127.0.0.1:8787 cannot be reached: fetch failed")

describe("a failure", () => {
  it("is one line, whatever its message holds", () => {
    expect(failureReport(new PerdureError("NOT_FOUND", "no\n  such \u001b[2Jthing"), plain)).toBe("error NOT_FOUND: no such \\u001b[2Jthing\n")
    expect(failureReport(new TypeError("oops"), plain)).toBe("error TypeError: oops\n")
    expect(failureReport("thrown", plain)).toBe("error Error: thrown\n")
  })

  it("has details where they are for programs", () => {
    const error = new PerdureError("NOT_FOUND", "no such thing", { details: { instance: "x" } })
    expect(failureReport(error, { ...plain, asJson: (value) => JSON.stringify(value) })).toBe(
      '{"error":{"code":"NOT_FOUND","message":"no such thing","details":{"instance":"x"}}}\n',
    )
  })

  it("of a server that nobody named says what else there is", () => {
    const failure = explained(unreachable, () => url(defaultTarget))
    expect(failureReport(failure, plain)).toMatch(
      /^error NO_SERVER: there is no perdure\.db here, and nothing answers at http:\/\/127\.0\.0\.1:8787; give --db /,
    )
    expect(exitCodeOf(failure)).toBe(4)
    expect(exitCodeOf(unreachable)).toBe(4)
  })

  it("of a server that somebody named says who did", () => {
    const failure = explained(unreachable, () => url("PERDURE_URL"))
    expect(failureReport(failure, plain)).toBe(
      "error UNREACHABLE: http://127.0.0.1:8787 cannot be reached: fetch failed; see that a server is there, or give another address (PERDURE_URL)\n",
    )
    expect(exitCodeOf(failure)).toBe(4)
  })

  it.each([
    [usageError("no"), 2],
    [new PerdureError("BAD_ID", "no"), 2],
    [new PerdureError("NOT_FOUND", "no"), 3],
    [new PerdureError("DATABASE_CORRUPT", "no"), 4],
    [new PerdureError("RESULT_TIMEOUT", "no"), 5],
    [new PerdureError("ID_EXISTS", "no"), 1],
    [new Error("no"), 1],
  ])("has an exit code: %s", (error, code) => {
    expect(exitCodeOf(error)).toBe(code)
  })
})
