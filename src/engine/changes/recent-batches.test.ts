import { expect, it } from "vitest"
import type { Change } from "../../core/journal/change.ts"
import type { ChangeBatch } from "./change-batch.ts"
import { RecentBatches } from "./recent-batches.ts"

function batchOf(cursor: string, messageLength: number): ChangeBatch {
  const changes = [{ type: "workflow.failed", data: { error: { name: "Error", message: "x".repeat(messageLength) } } } as unknown as Change]
  return { isEmpty: false, changes, instances: new Set(), cursor }
}

const read = { joined: 0, moment: "" }

it("keeps small batches, and not many large ones", () => {
  const batches = new RecentBatches()
  for (let at = 0; at < 100; at++) batches.keep(`small-${at}`, undefined, { ...read, batch: batchOf(`${at}`, 10) })
  expect(batches.after("small-0", undefined, 0, "")).toBeDefined()
  for (let at = 0; at < 10; at++) batches.keep(`large-${at}`, undefined, { ...read, batch: batchOf(`${at}`, 500_000) })
  const kept = Array.from({ length: 10 }, (_, at) => batches.after(`large-${at}`, undefined, 0, "")).filter((batch) => batch !== undefined)
  expect(kept).toHaveLength(3)
  batches.keep("huge", undefined, { ...read, batch: batchOf("h", 5_000_000) })
  expect(batches.after("huge", undefined, 0, "")).toBeDefined()
  expect(batches.after("large-9", undefined, 0, "")).toBeUndefined()
})

it("gives an empty batch only in the moment that it was read in, and any batch only to followers that had joined", () => {
  const batches = new RecentBatches()
  const batch: ChangeBatch = { isEmpty: true, changes: [], instances: new Set(), cursor: "a" }
  batches.keep("a", "i", { batch, joined: 5, moment: "1" })
  expect(batches.after("a", "i", 5, "1")).toBe(batch)
  expect(batches.after("a", "i", 5, "2")).toBeUndefined()
  expect(batches.after("a", "i", 6, "1")).toBeUndefined()
})
