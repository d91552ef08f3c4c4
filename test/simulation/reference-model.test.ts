import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { all, any, attempt, child, cut, patch, race, seq, sleep, step, wait } from "./program.ts"
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
  continuations: 0,
  isForsaken: undefined,
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

  it("knows what becomes of steps that hang", () => {
    expect(allowsError(step("a", { hangs: 2, attemptsMax: 2 }), "failed:timeout a")).toBe(true)
    expect(allowsResult(step("a", { hangs: 2, attemptsMax: 2 }), "a", sent)).toBe(false)
    expect(allowsResult(step("a", { hangs: 1, attemptsMax: 2 }), "a", sent)).toBe(true)
    expect(allowsError(step("a", { hangs: 1, attemptsMax: 2 }), "failed:timeout a")).toBe(false)
  })

  it("knows what becomes of timers that are given up", () => {
    expect(allowsResult(cut(sleep("s", 1), step("a")), ["a", { error: "cut" }], sent)).toBe(true)
    expect(allowsResult(cut(sleep("s", 1), step("a")), ["a", { ok: "s" }], sent)).toBe(true)
    expect(allowsResult(cut(sleep("s", 1), step("a")), ["b", { ok: "s" }], sent)).toBe(false)
    expect(allowsError(cut(sleep("s", 1), fatal), "failed:boom f")).toBe(true)
    expect(allowsError(cut(sleep("s", 1), step("a")), "cut")).toBe(false)
  })

  it("knows what children give to their parents", () => {
    expect(allowsResult(child("c", step("a")), { child: "a" }, sent)).toBe(true)
    expect(allowsResult(child("c", step("a")), { child: "b" }, sent)).toBe(false)
    expect(allowsResult(child("c", step("a"), { fate: "leave" }), "c", sent)).toBe(true)
    expect(allowsError(child("c", fatal), "child:failed:boom f")).toBe(true)
    expect(allowsError(child("c", fatal, { fate: "leave" }), "child:failed:boom f")).toBe(false)
    expect(allowsError(child("c", step("a")), "child cancelled")).toBe(false)
    expect(allowsResult(child("c", step("a"), { fate: "cancel" }), { cancelled: { error: "child cancelled" } }, sent)).toBe(true)
    expect(allowsResult(child("c", step("a"), { fate: "cancel" }), { cancelled: { error: "child terminated" } }, sent)).toBe(false)
    expect(allowsError(child("c", step("a"), { mayBeKept: true, onParentEnd: "terminate" }), "child terminated")).toBe(true)
  })

  it("knows that a patch takes one way or the other, and which", () => {
    const patched = patch("p", step("a"), fatal)
    expect(allowsResult(patched, { patched: true, value: "a" }, sent)).toBe(true)
    expect(allowsResult(patched, { patched: false, value: "a" }, sent)).toBe(false)
    expect(allowsError(patched, "failed:boom f")).toBe(true)
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
    expect(judgeEnding(step("a"), { ...ending, status: "terminated", isForsaken: "terminate" })).toBeUndefined()
    expect(judgeEnding(step("a"), { ...ending, status: "terminated", isForsaken: "cancel" })).toContain("by nobody")
    expect(judgeEnding(step("a"), { ...ending, run: 3, continuations: 2 })).toBeUndefined()
    expect(judgeEnding(step("a"), { ...ending, run: 3, continuations: 1 })).toContain("run 2")
  })
})
