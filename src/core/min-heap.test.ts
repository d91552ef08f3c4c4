import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { MinHeap } from "./min-heap.ts"

describe("a heap", () => {
  it("gives back what was put in, the least first, whatever the order of putting in and taking out", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.integer(), { nil: undefined })), (commands) => {
        const heap = new MinHeap<number>((a, b) => a < b)
        let model: number[] = []
        for (const each of commands) {
          if (each === undefined) {
            const [least, ...rest] = model.toSorted((a, b) => a - b)
            model = rest
            expect(heap.peek()).toBe(least)
            expect(heap.pop()).toBe(least)
          } else {
            heap.push(each)
            model.push(each)
          }
          expect(heap.size).toBe(model.length)
        }
      }),
    )
  })
})
