import { expect, it } from "vitest"
import type { Turn } from "../../../ports/journal-store.ts"
import { creation, idle, turn } from "../../../testing/store-conformance/sample.ts"
import { IndexTurnBuffer } from "./index-turn-buffer.ts"

const saying = (base: Turn, type: string): Turn => ({ ...base, entries: `[{"type":"${type}"}]` })

it("keeps those that tell of the instance, until the index has heard of them", () => {
  const turns = new IndexTurnBuffer()
  const born = saying(creation("i"), "run.started")
  const next = born.position + born.count
  turns.wrote(born)
  turns.wrote(saying(turn("i", next), "step.completed"))
  const ended = saying(turn("i", next + 1), "run.completed")
  turns.wrote(ended)
  expect(turns.since(1)).toEqual({ rows: [born, ended], revision: next + 1 })
  turns.indexed(next)
  expect(turns.since(next + 1)).toEqual({ rows: [ended], revision: next + 1 })
})

it("knows nothing where it has not seen all of them", () => {
  const turns = new IndexTurnBuffer()
  turns.wrote(saying(turn("i", 7), "run.completed"))
  expect(turns.since(3)).toBeUndefined()
  turns.indexed(7)
  expect(turns.since(3)).toBeUndefined()
})

it("begins anew with an instance that takes the place of another", () => {
  const turns = new IndexTurnBuffer()
  turns.wrote(saying(creation("i"), "run.started"))
  const again = saying(creation("i"), "run.started")
  turns.wrote(again)
  expect(turns.since(1)?.rows).toEqual([again])
})

it("has all that were written since the journal was read, and nothing where one was written before", () => {
  const read = new IndexTurnBuffer()
  read.readTo(2)
  const later = saying(turn("i", 3), "run.completed")
  read.wrote(later)
  read.indexed(2)
  expect(read.since(3)).toEqual({ rows: [later], revision: 3 })

  const unread = new IndexTurnBuffer()
  unread.wrote(later)
  unread.indexed(2)
  expect(unread.since(3)).toBeUndefined()
})

it("has not seen more because the index is about to hear of all that was read", () => {
  const turns = new IndexTurnBuffer()
  turns.readTo(10)
  turns.indexed(0)
  turns.wrote(saying(turn("i", 11), "run.completed"))
  expect(turns.since(1)).toBeUndefined()
})

it("knows the end of the last that changes what the index shows, once there was one", () => {
  const turns = new IndexTurnBuffer()
  turns.wrote(turn("i", 3))
  expect(turns.wanted).toBeUndefined()
  turns.wrote(turn("i", 4, { state: idle }))
  turns.wrote(turn("i", 5))
  turns.wrote(turn("i", 6, { state: idle }))
  expect(turns.wanted).toBe(4)
  turns.wrote(turn("i", 7, { memo: "1" }))
  expect(turns.wanted).toBe(7)
})
