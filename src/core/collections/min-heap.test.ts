import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { MinHeap } from "./min-heap.ts"

describe("a heap", () => {
  it("gives back what was put in, the least first, whatever the order of putting in and taking out", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.integer(), { nil: undefined })), (commands) => {
        const heap = new MinHeap<number>((a, b) => a < b)
        let model: number[] = []
        const taken: [number | undefined, number | undefined][] = []
        for (const each of commands) {
          if (each === undefined) {
            const [least, ...rest] = model.toSorted((a, b) => a - b)
            taken.push([heap.pop(), least])
            model = rest
          } else {
            heap.push(each)
            model.push(each)
          }
          expect(heap.size).toBe(model.length)
          expect(heap.peek()).toBe(model.length === 0 ? undefined : Math.min(...model))
        }
        for (const [popped, least] of taken) expect(popped).toBe(least)
      }),
    )
  })
})
