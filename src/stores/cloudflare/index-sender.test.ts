import { setImmediate as macrotask } from "node:timers/promises"
import { expect, it } from "vitest"
import type { Status } from "../../core/status.ts"
import type { IndexUpdate } from "../../ports/index-shard.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import type { ObjectTables } from "../../ports/object-tables.ts"
import { IndexSender } from "./index-sender.ts"
import { ShardLayout } from "./shard-layout.ts"

const log = { debug() {}, info() {}, warn() {}, error() {} }
const layout = new ShardLayout()

/** A sender of an object whose instance has the statuses that a test gives it, on a clock that the test moves. */
function scene() {
  const timers: { readonly ms: number; readonly run: () => void }[] = []
  const told: Status[] = []
  let status: Status = "running"
  let wanted = 0
  let known = 0
  const row = (): InstanceRow => ({
    id: "i",
    incarnation: "x",
    workflow: "w",
    version: "1",
    createdAt: 1,
    updatedAt: 1,
    tags: [],
    status,
    run: 1,
    runPosition: 1,
  })
  const tables: Partial<ObjectTables> = {
    isThere: () => true,
    standing: () => ({ id: "i", incarnation: "x", status, isOwned: false, hasMail: false }),
    indexNews: () => ({ known, shard: layout.shardOf("i"), ...(wanted > known ? { wanted } : undefined) }),
    indexCopy: () => ({ row: row(), rows: [], revision: wanted }),
    indexed: (revision) => (known = revision),
  }
  const indexWrite = async (entries: readonly IndexUpdate[]) => void told.push(...entries.map((entry) => entry.row.status))
  const sender = new IndexSender({
    tables: tables as ObjectTables,
    layout,
    shardOf: () => ({ indexWrite, indexRemove: async () => {} }),
    now: () => 1_000,
    log,
    onEnded: async () => {},
    later: (run, ms) => timers.push({ run, ms }),
    changesOf: () => [],
  })
  return {
    told,
    sender,
    delays: () => timers.map(({ ms }) => ms),
    comesTo: (next: Status) => {
      status = next
      wanted++
      sender.send(() => {})
    },
    /** The earliest of the timers goes off. */
    pass: async () => {
      const next = timers.toSorted((a, b) => a.ms - b.ms)[0]
      if (next === undefined) throw new Error("nothing is waited for")
      timers.splice(timers.indexOf(next), 1)
      next.run()
      await macrotask()
    },
  }
}

it("an end is told when those who wait for it have had a moment, and until then the object is to be woken", async () => {
  const { comesTo, pass, told, delays, sender } = scene()
  comesTo("completed")
  await macrotask()
  expect([told, delays(), sender.nextTryAt]).toEqual([[], [3], 11_000])
  await pass()
  expect([told, delays(), sender.nextTryAt]).toEqual([["completed"], [], undefined])
})

it("one that ends at once is told of once, and takes one timer", async () => {
  const { comesTo, pass, told, delays, sender } = scene()
  comesTo("running")
  comesTo("completed")
  expect(delays()).toEqual([3])
  await pass()
  expect([told, delays(), sender.nextTryAt]).toEqual([["completed"], [], undefined])
})

it("what runs is told of later, and an end does not wait as long: it is told once", async () => {
  const { comesTo, pass, told, delays, sender } = scene()
  comesTo("running")
  comesTo("running")
  expect(delays()).toEqual([3])
  await pass()
  comesTo("running")
  expect([told, delays()]).toEqual([[], [100]])
  comesTo("completed")
  comesTo("completed")
  expect(delays()).toEqual([100, 3])
  await pass()
  expect(told).toEqual(["completed"])
  await pass()
  expect([told, delays(), sender.nextTryAt]).toEqual([["completed"], [], undefined])
})

it("what runs on for long is told of meanwhile", async () => {
  const { comesTo, pass, told } = scene()
  comesTo("running")
  await pass()
  await pass()
  comesTo("running")
  comesTo("waiting")
  await pass()
  expect(told).toEqual(["running", "waiting"])
})
