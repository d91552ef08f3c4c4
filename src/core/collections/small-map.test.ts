import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { SmallMap } from "./small-map.ts"

describe("a small map", () => {
  it("does what a Map does, small or large, in the order of insertion", () => {
    const key = fc.integer({ min: 0, max: 14 }).map((n) => `k${n}`)
    const command = fc.oneof(
      fc.record({ do: fc.constant("set" as const), key, value: fc.integer() }),
      fc.record({ do: fc.constant("delete" as const), key }),
      fc.record({ do: fc.constant("clear" as const) }),
    )
    fc.assert(
      fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
        const small = new SmallMap<number>()
        const model = new Map<string, number>()
        for (const each of commands) {
          const apply = (map: SmallMap<number> | Map<string, number>) =>
            each.do === "set" ? void map.set(each.key, each.value) : each.do === "delete" ? map.delete(each.key) : map.clear()
          expect(apply(small)).toBe(apply(model))
          expect(small.size).toBe(model.size)
          expect(small.keys()).toEqual([...model.keys()])
          expect(small.values()).toEqual([...model.values()])
          for (let n = 0; n < 15; n++) {
            expect(small.get(`k${n}`)).toBe(model.get(`k${n}`))
            expect(small.has(`k${n}`)).toBe(model.has(`k${n}`))
          }
          expect(small.some((value) => value > 0)).toBe([...model.values()].some((value) => value > 0))
        }
      }),
    )
  })
})
