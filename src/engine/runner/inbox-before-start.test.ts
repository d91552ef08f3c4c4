import { expect, it } from "vitest"
import { SmallQueue } from "../../core/collections/small-queue.ts"
import type { Message } from "../../ports/journal-store.ts"
import type { RunnerInput } from "./runner-input.ts"
import { InboxBeforeStart } from "./inbox-before-start.ts"

const message = (seq: number, kind: Message["kind"]): Message => ({ instance: "i", kind, at: 0, seq })

function scene() {
  const opening = new InboxBeforeStart()
  const taken: number[] = []
  const inputs = new SmallQueue<RunnerInput>()
  const read = (part: readonly Message[], isAll: boolean) =>
    opening.receive(part, isAll, inputs, ({ seq }) => ({
      handle: () => void taken.push(seq),
    }))
  const takeAll = () => {
    for (let input = inputs.shift(); input; input = inputs.shift()) input.handle(false)
    return taken
  }
  return { opening, read, takeAll }
}

it("nothing of a loaded instance starts before its whole inbox is read, and controls of the last part go first as well", () => {
  const { opening, read, takeAll } = scene()
  expect(read([message(1, "event"), message(2, "pause"), message(3, "event")], false)).toBe(true)
  expect([opening.blocksStart, opening.hasControls]).toEqual([true, false])
  expect(read([message(4, "event"), message(5, "cancel")], true)).toBe(true)
  expect([opening.blocksStart, opening.hasControls]).toEqual([false, true])
  expect(takeAll()).toEqual([2, 5, 1, 3, 4])
})

it("messages that are read later are ordinary inputs", () => {
  const { opening, read, takeAll } = scene()
  expect(read([], true)).toBe(true)
  expect([opening.blocksStart, opening.hasControls]).toEqual([false, false])
  expect(read([message(1, "pause")], true)).toBe(false)
  expect(takeAll()).toEqual([])
})
