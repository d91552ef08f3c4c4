import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { all, any, attempt, race, seq, sleep, step, wait } from "./program.ts"
import { allowsError, allowsResult, judgeEnding, type Ending } from "./reference-model.ts"

const sent = new Map([["red", new Set(["red:0"])]])
const fatal = step("f", { fails: 1, attemptsMax: 1 })

const ending: Ending = {
  status: "completed",
  result: "a",
  error: undefined,
  isCancelRecorded: false,
  sent,
  tried: new Map(),
  accepted: new Map(),
  run: 1,
  lastSeizure: undefined,
}

describe("the reference model", () => {
  it("imports nothing but the programs that it judges", () => {
    const text = readFileSync(new URL("./reference-model.ts", import.meta.url), "utf8")
    expect([...text.matchAll(/from "(.*)"/g)].map(([, specifier]) => specifier)).toEqual(["./program.ts"])
  })

  it("allows the one result of a sequence, and no other", () => {
    const program = seq(step("a"), sleep("s", 1), step("b", { inner: step("c") }))
    expect(allowsResult(program, ["a", "s", ["b", "c"]], sent)).toBe(true)
    expect(allowsResult(program, ["a", "s", ["b", "d"]], sent)).toBe(false)
    expect(allowsResult(program, ["a", "s"], sent)).toBe(false)
  })

  it("allows either branch of a race, but of two sleeps only the shorter", () => {
    expect(allowsResult(race(step("a"), sleep("s", 1)), [0, "a"], sent)).toBe(true)
    expect(allowsResult(race(step("a"), sleep("s", 1)), [1, "s"], sent)).toBe(true)
    expect(allowsResult(race(sleep("s", 2), sleep("t", 1)), [1, "t"], sent)).toBe(true)
    expect(allowsResult(race(sleep("s", 2), sleep("t", 1)), [0, "s"], sent)).toBe(false)
  })

  it("gives a wait only what was sent, or what its timeout gives", () => {
    expect(allowsResult(wait("w", "red"), "red:0", sent)).toBe(true)
    expect(allowsResult(wait("w", "red"), "red:1", sent)).toBe(false)
    expect(allowsResult(wait("w", "red", { fallback: "nothing" }), "nothing", sent)).toBe(false)
    expect(allowsResult(wait("w", "red", { timeoutMs: 1, fallback: "nothing" }), "nothing", sent)).toBe(true)
    expect(allowsError(wait("w", "red", { timeoutMs: 1 }), "timeout:w")).toBe(true)
    expect(allowsError(wait("w", "red"), "timeout:w")).toBe(false)
  })

  it("knows which errors can come out", () => {
    expect(allowsError(all(step("a"), fatal), "failed:boom f")).toBe(true)
    expect(allowsResult(all(step("a"), fatal), ["a", "f"], sent)).toBe(false)
    expect(allowsError(seq(fatal, step("b", { fails: 1, attemptsMax: 1 })), "failed:boom b")).toBe(false)
    expect(allowsError(any(step("a"), fatal), "aggregate")).toBe(false)
    expect(allowsResult(attempt(fatal, step("b")), { caught: "failed:boom f", handled: "b" }, sent)).toBe(true)
    expect(allowsResult(attempt(fatal, step("b")), { tried: "f" }, sent)).toBe(false)
  })

  it("finds endings wrong that contradict what was acknowledged", () => {
    expect(judgeEnding(step("a"), ending)).toBeUndefined()
    expect(judgeEnding(step("a"), { ...ending, result: "b" })).toContain("cannot give")
    expect(judgeEnding(step("a"), { ...ending, status: "waiting" })).toBe("left behind as waiting")
    expect(judgeEnding(step("a"), { ...ending, lastSeizure: "terminate" })).toContain("termination was acknowledged")
    expect(judgeEnding(step("a"), { ...ending, isCancelRecorded: true })).toContain("cancel is recorded")
    expect(judgeEnding(step("a"), { ...ending, accepted: new Map([["restart", 1]]), tried: new Map([["restart", 1]]) })).toContain("run 1")
    expect(judgeEnding(step("a"), { ...ending, status: "cancelled" })).toContain("no cancel")
    expect(judgeEnding(step("a"), { ...ending, status: "terminated" })).toContain("by nobody")
  })
})
