import { setImmediate as macrotask } from "node:timers/promises"
import { expect, it } from "vitest"
import { silentLogger } from "../../hosts/silent-logger.ts"
import type { Status } from "../../core/journal/status.ts"
import type { IndexRemoval, IndexUpdate } from "../../ports/cloudflare/index-shard.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import type { ObjectTables } from "../../ports/cloudflare/object-tables.ts"
import { IndexPublisher } from "./index-publisher.ts"
import { ShardLayout } from "./shard-layout.ts"

const layout = new ShardLayout()

/** A sender of an object whose instance has the statuses that a test gives it, on a clock that the test moves. */
function scene() {
  const timers: { readonly ms: number; readonly run: () => void }[] = []
  const removals: string[] = []
  let removed: readonly IndexRemoval[] = []
  let shard = layout.shardOf("i")
  let answer = async () => {}
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
    summary: () => ({ id: "i", incarnation: "x", status, isOwned: false, hasMessages: false }),
    indexBacklog: () => ({ indexedUpTo: known, shard, removed, ...(wanted > known ? { pendingUpTo: wanted } : undefined) }),
    markRemoved: (heard) => (removed = removed.filter((one) => !heard.includes(one))),
    indexCopy: () => ({ row: row(), rows: [], revision: wanted }),
    markIndexed: (revision) => (known = revision),
  }
  const indexWrite = async (entries: readonly IndexUpdate[]) => {
    await answer()
    told.push(...entries.map((entry) => entry.row.status))
  }
  const indexRemove = async (name: string, gone: readonly IndexRemoval[]) => {
    await answer()
    removals.push(...gone.map(({ incarnation }) => `${incarnation} from ${name}`))
  }
  const sender = new IndexPublisher({
    tables: tables as ObjectTables,
    layout,
    shardOf: (name) => ({ indexWrite, indexRemove: (gone) => indexRemove(name, gone) }),
    now: () => 1_000,
    log: silentLogger,
    onEnded: async () => {},
    setTimer: (run, ms) => {
      const timer = { run, ms }
      timers.push(timer)
      return () => void timers.splice(timers.indexOf(timer), 1)
    },
  })
  return {
    told,
    removals,
    /** What each call of a shard waits for. */
    answersWith: (next: () => Promise<void>) => (answer = next),
    isInShard: (name: string) => (shard = name),
    isDeleted: (...incarnations: readonly string[]) => {
      removed = incarnations.map((incarnation) => ({ id: "i", incarnation }))
      wanted = known
      return sender.publishRemoval(() => {})
    },
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
  expect([told, delays(), sender.retryAt]).toEqual([[], [3], 11_000])
  await pass()
  expect([told, delays(), sender.retryAt]).toEqual([["completed"], [], undefined])
})

it("one that ends at once is told of once, and takes one timer", async () => {
  const { comesTo, pass, told, delays, sender } = scene()
  comesTo("running")
  comesTo("completed")
  expect(delays()).toEqual([3])
  await pass()
  expect([told, delays(), sender.retryAt]).toEqual([["completed"], [], undefined])
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
  expect([told, delays(), sender.retryAt]).toEqual([["completed"], [], undefined])
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

it("a deletion is told at once, and no timer is left", async () => {
  const { isDeleted, removals, delays, sender } = scene()
  expect(await isDeleted("x")).toBe(true)
  expect([removals, delays(), sender.retryAt]).toEqual([[`x from ${layout.shardOf("i")}`], [], undefined])
})

it("a deletion waits for a call that is under way, so that the index hears of it last", async () => {
  const { comesTo, pass, answersWith, isDeleted, told, removals } = scene()
  let goOn = () => {}
  answersWith(() => new Promise((resolve) => (goOn = resolve)))
  comesTo("completed")
  await pass()
  const deletion = isDeleted("x")
  await macrotask()
  expect([told, removals]).toEqual([[], []])
  answersWith(async () => {})
  goOn()
  expect(await deletion).toBe(true)
  expect([told, removals]).toEqual([["completed"], [`x from ${layout.shardOf("i")}`]])
})

it("a deletion that a shard refuses is answered, and left to the alarm", async () => {
  const { isDeleted, answersWith, removals, delays, sender } = scene()
  answersWith(() => Promise.reject(new Error("out of order")))
  expect(await isDeleted("x")).toBe(false)
  expect([removals, delays(), sender.retryAt]).toEqual([[], [], 1_400])
  answersWith(async () => {})
  sender.send(() => {}, true)
  await macrotask()
  expect([removals, sender.retryAt]).toEqual([[`x from ${layout.shardOf("i")}`], undefined])
})

it("a deletion is answered after five seconds if a shard never answers", async () => {
  const { isDeleted, answersWith, pass, delays, sender } = scene()
  answersWith(() => new Promise(() => {}))
  const deletion = isDeleted("x")
  expect(delays()).toEqual([5_000])
  await pass()
  expect([await deletion, sender.retryAt]).toEqual([false, 11_000])
})

it("a deletion takes an instance out of the shard that has it and out of the one that it was being moved to", async () => {
  const { isDeleted, isInShard, removals } = scene()
  isInShard("old")
  expect(await isDeleted("x", "y")).toBe(true)
  expect(removals).toEqual(["x from old", "y from old", `x from ${layout.shardOf("i")}`, `y from ${layout.shardOf("i")}`])
})
