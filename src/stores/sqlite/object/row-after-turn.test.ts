import { expect, it } from "vitest"
import { silentLogger } from "../../../hosts/silent-logger.ts"
import type { Turn } from "../../../ports/journal-store.ts"
import { completed, creation, slots, turn } from "../../../testing/store-conformance/sample.ts"
import { sqlite } from "../sqlite-provider.ts"
import { RowAfterTurn } from "./row-after-turn.ts"

/** After each turn: the computed row, and the row that the store has. */
async function followed(turns: readonly Turn[]): Promise<readonly (readonly [known: unknown, stored: unknown])[]> {
  const store = await sqlite(":memory:").open({ now: () => 1_000_000, log: silentLogger, role: "worker" })
  const written = new RowAfterTurn()
  const pairs: [unknown, unknown][] = []
  for (const one of turns) {
    expect(await store.journal.commit([one])).toEqual(["committed"])
    pairs.push([written.after(one), await store.directory.get(one.instance)])
  }
  await store.close()
  return pairs
}

it("knows the row after each turn with a state, as the store has it", async () => {
  const pairs = await followed([
    creation("i", { tags: ["a"], queue: "reports", state: { status: "running", owner: "w" } }),
    turn("i", 3, { state: { status: "sleeping", run: 1, runPosition: 1, dueAt: 2_000_000, owner: "w" }, at: 1_000_600 }),
    turn("i", 4, { state: { status: "running", phase: "cancelling", run: 1, runPosition: 1, owner: "w" }, tags: ["b"], memo: `"m"` }),
    turn("i", 5, { state: { ...completed, endPosition: 5 } }),
  ])
  for (const [known, stored] of pairs) expect(known).toEqual(stored)
})

it("keeps the tags and the memo of turns without a state", async () => {
  const pairs = await followed([creation("i"), turn("i", 3, { tags: ["b"], memo: `"m"` }), turn("i", 4, { state: completed })])
  expect(pairs[1]?.[0]).toBeUndefined()
  expect(pairs[2]?.[0]).toEqual(pairs[2]?.[1])
})

it("knows nothing of an instance with limits, nor of one whose creation it has not seen", async () => {
  const written = new RowAfterTurn()
  expect(written.after(creation("i", { flow: { limits: [slots(1)] } }))).toBeUndefined()
  expect(written.after(turn("i", 3, { state: completed }))).toBeUndefined()
  expect(new RowAfterTurn().after(turn("i", 3, { state: completed }))).toBeUndefined()
})

it("starts again with another incarnation", () => {
  const written = new RowAfterTurn()
  written.after(creation("i", { tags: ["a"] }))
  expect(written.after(turn("i", 3, { incarnation: "i~2", state: completed }))).toBeUndefined()
  expect(written.after(creation("i", { incarnation: "i~2", state: completed }))).toMatchObject({ incarnation: "i~2", tags: [], status: "completed" })
})
