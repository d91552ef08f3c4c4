import { describe, expect, it } from "vitest"
import { completed, creation, idle, turn } from "../../../testing/store-conformance/sample.ts"
import { WriteStrategy } from "./write-strategy.ts"

const methodOf = (strategy: WriteStrategy, ...turns: Parameters<WriteStrategy["choose"]>[0]) => strategy.choose(turns).method

describe("how turns are written", () => {
  it("one turn goes alone, until the instance has refused that", () => {
    const strategy = new WriteStrategy()
    expect(methodOf(strategy, turn("a", 3))).toBe("single")
    strategy.noteNotSingle(turn("a", 3))
    expect(methodOf(strategy, turn("a", 4))).toBe("fresh batch")
    expect(methodOf(strategy, turn("b", 4))).toBe("single")
  })

  it("one turn with tasks is a batch of one, and says nothing about the next turn", () => {
    const strategy = new WriteStrategy()
    const task = { id: "t", step: "s", attempt: 1, activity: "x", queue: "q", key: "k", input: "1" }
    expect(methodOf(strategy, turn("a", 3, { tasks: [task] }))).toBe("fresh batch")
    expect(methodOf(strategy, turn("a", 4, { endsTasks: "all" }))).toBe("fresh batch")
    expect(methodOf(strategy, turn("a", 5))).toBe("single")
  })

  it("several turns are one batch, and turns that depend on each other are written in rounds", () => {
    const strategy = new WriteStrategy()
    expect(methodOf(strategy, turn("a", 3), turn("b", 3))).toBe("fresh batch")
    expect(strategy.choose([turn("a", 3), turn("b", 3), turn("a", 4)])).toMatchObject({ method: "plain batch", rounds: [[0, 1], [2]] })
    expect(methodOf(strategy, creation("c"), turn("a", 3, { within: { instance: "c", incarnation: "c~1", run: 1 } }))).toBe("plain batch")
  })

  it("turns that change slots of an instance with limits wait for the locks, and other turns do not", () => {
    const strategy = new WriteStrategy()
    strategy.noteLimited("a")
    const rests = turn("a", 3, { state: idle })
    const other = turn("b", 3)
    expect(strategy.choose([rests, other])).toMatchObject({ method: "single", turns: [other], underLocks: new Set([rests]) })
    expect(strategy.choose([turn("a", 3)]).underLocks.size).toBe(0)
    expect(strategy.choose([turn("a", 3, { state: { ...idle, status: "running" } })]).underLocks.size).toBe(0)
    expect(strategy.choose([turn("a", 4, { state: completed })]).underLocks.size).toBe(1)
    expect(strategy.choose([turn("a", 5, { state: idle })]).underLocks.size).toBe(0)
  })
})
