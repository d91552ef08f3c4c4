import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { SmallQueue } from "./small-queue.ts"

describe("a small queue", () => {
  it("does what an array does with push, shift and unshift", () => {
    const item = fc.record({ n: fc.integer() })
    const command = fc.oneof(
      { weight: 3, arbitrary: fc.record({ do: fc.constant("push" as const), item }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant("shift" as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("unshift" as const), items: fc.array(item, { maxLength: 3 }) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("remove" as const), at: fc.nat(5) }) },
    )
    fc.assert(
      fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
        const queue = new SmallQueue<{ n: number }>()
        const model: { n: number }[] = []
        for (const each of commands) {
          if (each.do === "remove") {
            const [removed] = model.splice(each.at, 1)
            if (removed) queue.remove(removed)
            continue
          }
          const answers =
            each.do === "push"
              ? [queue.push(each.item), void model.push(each.item)]
              : each.do === "shift"
                ? [queue.shift(), model.shift()]
                : [queue.unshift(each.items), void model.unshift(...each.items)]
          expect(answers[0]).toBe(answers[1])
          expect(queue.items()).toEqual(model)
          expect(queue.size).toBe(model.length)
          expect(queue.peek()).toBe(model[0])
        }
      }),
    )
  })

  it("keeps its order over thousands that come while others go, and is never empty", () => {
    const queue = new SmallQueue<{ n: number }>()
    const taken: (number | undefined)[] = []
    for (let n = 0; n < 10_000; n++) {
      queue.push({ n })
      if (n % 3 > 0) taken.push(queue.shift()?.n)
    }
    expect(queue.size).toBe(10_000 - taken.length)
    expect(taken).toEqual(taken.map((_, index) => index))
    expect(queue.items().map(({ n }) => n)).toEqual(Array.from({ length: queue.size }, (_, index) => taken.length + index))
  })
})
