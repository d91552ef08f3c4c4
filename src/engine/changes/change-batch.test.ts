import { expect, it } from "vitest"
import { Payload } from "../../core/values/value-codec.ts"
import type { Entry } from "../../core/journal/journal.ts"
import { encodeEntries } from "../../core/journal/turn-codec.ts"
import type { ChangeRow } from "../../ports/change-stream.ts"
import { ChangeDecoder } from "./change-batch.ts"

let position = 0
function row(at: number, run: number, entry: Entry): ChangeRow {
  position++
  const place = { turn: `t${position}`, position, count: 1, run, at, cursor: `c${position}` }
  return { ...place, entries: encodeEntries([entry]).text, instance: "i", incarnation: "i~1", workflow: "w", version: "1" }
}

const started = (attempt: number): Entry => ({ type: "step.started", id: "a", attempt })
const completed: Entry = { type: "step.completed", id: "a", value: Payload.undefined }

it("how long an attempt took is the same for all readers, whoever else is behind or ahead", () => {
  const decoder = new ChangeDecoder()
  const read = (...rows: ChangeRow[]) => decoder.decode(undefined, { rows, cursor: "c" }).changes.map(({ data }) => [data.attempt, data.durationMs])
  const [first, second, end] = [row(1_000, 1, started(1)), row(2_000, 1, started(2)), row(2_500, 1, completed)]
  read(first, second)
  // Somebody else begins from the start.
  read(first)
  expect(read(end)).toEqual([[2, 500]])
  const again = row(9_000, 2, started(1))
  read(again)
  expect(read(row(9_001, 2, completed))).toEqual([[1, 1]])
  expect(read(first, second, end)).toEqual([
    [1, undefined],
    [2, undefined],
    [2, 500],
  ])
})
