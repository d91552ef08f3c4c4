import { expect, it } from "vitest"
import type { Turn } from "../../../ports/journal-store.ts"
import { creation, idle, turn } from "../../../testing/store-conformance/sample.ts"
import { IndexTurnBuffer } from "./index-turn-buffer.ts"

const saying = (base: Turn, type: string): Turn => ({ ...base, entries: `[{"type":"${type}"}]` })

it("keeps the turns about the instance until the index has them", () => {
  const turns = new IndexTurnBuffer()
  const born = saying(creation("i"), "run.started")
  const next = born.position + born.count
  turns.onTurn(born)
  turns.onTurn(saying(turn("i", next), "step.completed"))
  const ended = saying(turn("i", next + 1), "run.completed")
  turns.onTurn(ended)
  expect(turns.turnsFrom(1)).toEqual({ rows: [born, ended], revision: next + 1 })
  turns.indexed(next)
  expect(turns.turnsFrom(next + 1)).toEqual({ rows: [ended], revision: next + 1 })
})

it("knows nothing if it has not seen all turns", () => {
  const turns = new IndexTurnBuffer()
  turns.onTurn(saying(turn("i", 7), "run.completed"))
  expect(turns.turnsFrom(3)).toBeUndefined()
  turns.indexed(7)
  expect(turns.turnsFrom(3)).toBeUndefined()
})

it("starts again with an instance that takes the place of another instance", () => {
  const turns = new IndexTurnBuffer()
  turns.onTurn(saying(creation("i"), "run.started"))
  const again = saying(creation("i"), "run.started")
  turns.onTurn(again)
  expect(turns.turnsFrom(1)?.rows).toEqual([again])
})

it("has all turns since the journal was read, and nothing if it missed an earlier turn", () => {
  const read = new IndexTurnBuffer()
  read.journalReadTo(2)
  const later = saying(turn("i", 3), "run.completed")
  read.onTurn(later)
  read.indexed(2)
  expect(read.turnsFrom(3)).toEqual({ rows: [later], revision: 3 })

  const unread = new IndexTurnBuffer()
  unread.onTurn(later)
  unread.indexed(2)
  expect(unread.turnsFrom(3)).toBeUndefined()
})

it("does not count a turn as seen because the index acknowledges it", () => {
  const turns = new IndexTurnBuffer()
  turns.journalReadTo(10)
  turns.indexed(0)
  turns.onTurn(saying(turn("i", 11), "run.completed"))
  expect(turns.turnsFrom(1)).toBeUndefined()
})

it("knows the end of the last turn that changes what the index shows, once there was such a turn", () => {
  const turns = new IndexTurnBuffer()
  turns.onTurn(turn("i", 3))
  expect(turns.pendingUpTo).toBeUndefined()
  turns.onTurn(turn("i", 4, { state: idle }))
  turns.onTurn(turn("i", 5))
  turns.onTurn(turn("i", 6, { state: idle }))
  expect(turns.pendingUpTo).toBe(4)
  turns.onTurn(turn("i", 7, { memo: "1" }))
  expect(turns.pendingUpTo).toBe(7)
})
