import { expect, it } from "vitest"
import type { Turn } from "../../ports/journal-store.ts"
import { creation, turn } from "../../testing/store-conformance/sample.ts"
import { TurnsForIndex } from "./turns-for-index.ts"

const saying = (base: Turn, type: string): Turn => ({ ...base, entries: `[{"type":"${type}"}]` })

it("keeps those that tell of the instance, until the index has heard of them", () => {
  const turns = new TurnsForIndex()
  const born = saying(creation("i"), "run.started")
  const next = born.position + born.count
  turns.wrote(born, true)
  turns.wrote(saying(turn("i", next), "step.completed"), false)
  const ended = saying(turn("i", next + 1), "run.completed")
  turns.wrote(ended, true)
  expect(turns.since(1)).toEqual({ rows: [born, ended], revision: next + 1 })
  turns.indexed(next)
  expect(turns.since(next + 1)).toEqual({ rows: [ended], revision: next + 1 })
})

it("knows nothing where it has not seen all of them", () => {
  const turns = new TurnsForIndex()
  turns.wrote(saying(turn("i", 7), "run.completed"), true)
  expect(turns.since(3)).toBeUndefined()
  turns.indexed(7)
  expect(turns.since(3)).toBeUndefined()
})

it("begins anew with an instance that takes the place of another", () => {
  const turns = new TurnsForIndex()
  turns.wrote(saying(creation("i"), "run.started"), true)
  const again = saying(creation("i"), "run.started")
  turns.wrote(again, true)
  expect(turns.since(1)?.rows).toEqual([again])
})

it("has all that were written since the journal was read, and nothing where one was written before", () => {
  const read = new TurnsForIndex()
  read.readTo(2)
  const later = saying(turn("i", 3), "run.completed")
  read.wrote(later, true)
  read.indexed(2)
  expect(read.since(3)).toEqual({ rows: [later], revision: 3 })

  const unread = new TurnsForIndex()
  unread.wrote(later, true)
  unread.indexed(2)
  expect(unread.since(3)).toBeUndefined()
})

it("has not seen more because the index is about to hear of all that was read", () => {
  const turns = new TurnsForIndex()
  turns.readTo(10)
  turns.indexed(0)
  turns.wrote(saying(turn("i", 11), "run.completed"), true)
  expect(turns.since(1)).toBeUndefined()
})

it("knows the end of the last that is news, once there was one", () => {
  const turns = new TurnsForIndex()
  turns.wrote(turn("i", 3), false)
  expect(turns.wanted).toBeUndefined()
  turns.wrote(turn("i", 4), true)
  turns.wrote(turn("i", 5), false)
  expect(turns.wanted).toBe(4)
})
