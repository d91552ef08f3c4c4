import { expect, it } from "vitest"
import { SmallQueue } from "../../core/collections/small-queue.ts"
import type { Message } from "../../ports/journal-store.ts"
import type { Input } from "./runner-input.ts"
import { InboxBeforeStart } from "./inbox-before-start.ts"

const message = (seq: number, kind: Message["kind"]): Message => ({ instance: "i", kind, at: 0, seq })

function scene() {
  const opening = new InboxBeforeStart()
  const taken: number[] = []
  const inputs = new SmallQueue<Input>()
  const read = (part: readonly Message[], isAll: boolean) =>
    opening.read(part, isAll, inputs, ({ seq }) => ({
      take: () => void taken.push(seq),
    }))
  const takeAll = () => {
    for (let input = inputs.shift(); input; input = inputs.shift()) input.take(false)
    return taken
  }
  return { opening, read, takeAll }
}

it("nothing of a loaded instance starts before its whole inbox is read, and its controls go first, also from the last part", () => {
  const { opening, read, takeAll } = scene()
  expect(read([message(1, "event"), message(2, "pause"), message(3, "event")], false)).toBe(true)
  expect([opening.isClosed, opening.hasControls]).toEqual([true, false])
  expect(read([message(4, "event"), message(5, "cancel")], true)).toBe(true)
  expect([opening.isClosed, opening.hasControls]).toEqual([false, true])
  expect(takeAll()).toEqual([2, 5, 1, 3, 4])
})

it("what is read later is left to the instance", () => {
  const { opening, read, takeAll } = scene()
  expect(read([], true)).toBe(true)
  expect([opening.isClosed, opening.hasControls]).toEqual([false, false])
  expect(read([message(1, "pause")], true)).toBe(false)
  expect(takeAll()).toEqual([])
})
