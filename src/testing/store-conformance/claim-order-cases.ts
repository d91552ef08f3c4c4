import { describe, expect, it } from "vitest"
import { claimBy, creation, event, limited, slots, turn, type CreationOptions } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

/** Instances that have begun are claimed before new starts, and new starts get a share of each claim. */
export function claimOrderCases(bed: CurrentBed): void {
  const claimedIds = async (request = claimBy()) => (await bed().journal.claim(request)).map(({ instance }) => instance.id)
  const start = (id: string, dueAt: number, more: CreationOptions = {}) => creation(id, { ...more, state: { status: "queued", dueAt } })
  const sleeper = (id: string, dueAt: number, more: CreationOptions = {}) => creation(id, { ...more, state: { status: "sleeping", dueAt } })

  describe("the order of claims", () => {
    it("a waking instance is claimed before older new starts, whatever wakes it", async () => {
      const { journal, directory } = bed()
      await journal.renew("w", 30_000)
      await journal.commit([
        start("new-1", 10),
        start("new-2", 20),
        sleeper("timer", 500_000),
        creation("event"),
        creation("resumed", { state: { status: "paused" } }),
        creation("released", { state: { status: "running", owner: "w" } }),
      ])
      await directory.deliver([event("event", { at: 600_000 }), { instance: "resumed", kind: "resume", at: 700_000 }])
      await journal.release("w", ["released"])
      expect(await claimedIds(claimBy({ limit: 4 }))).toEqual(["timer", "event", "resumed", "released"])
      expect(await claimedIds()).toEqual(["new-1", "new-2"])
    })

    it("an instance of a dead worker is claimed before new starts", async () => {
      const { journal } = bed()
      await journal.renew("w", 1_000)
      await journal.commit([start("new", 10), creation("left", { state: { status: "running", owner: "w" } })])
      bed().now += 2_000
      expect(await claimedIds(claimBy({ limit: 1 }))).toEqual(["left"])
    })

    it("many new starts do not delay waking instances, over all offered workflows, versions and queues", async () => {
      const { journal } = bed()
      await journal.commit(Array.from({ length: 300 }, (_, n) => start(`new-${n}`, 10 + n, n % 2 ? { queue: "gpu" } : {})))
      await journal.commit([sleeper("third", 900_003, { version: "2" }), sleeper("second", 900_002, { queue: "mail" }), sleeper("first", 900_001)])
      const offers = [
        { workflow: "order", version: "1" },
        { workflow: "order", version: "2" },
      ]
      expect(await claimedIds(claimBy({ offers, limit: 5 }))).toEqual(["first", "second", "third", "new-0", "new-1"])
    })

    it("priority counts first: a new start of higher priority is claimed before a waking instance", async () => {
      const { journal } = bed()
      await journal.commit([
        sleeper("low", 1, { flow: { priority: -1 } }),
        sleeper("plain", 5),
        start("new-plain", 2),
        sleeper("high", 6, { flow: { priority: 3 } }),
        start("new-high", 3, { flow: { priority: 3 } }),
      ])
      expect(await claimedIds()).toEqual(["high", "new-high", "plain", "new-plain", "low"])
    })

    it("instances named by id are claimed in the same order", async () => {
      const { journal } = bed()
      await journal.commit([start("new", 1), sleeper("old", 2)])
      expect(await claimedIds(claimBy({ ids: ["new", "old"], limit: 1 }))).toEqual(["old"])
      expect(await claimedIds(claimBy({ ids: ["new", "old"], limit: 1 }))).toEqual(["new"])
    })

    it("new starts get the places reserved for them, the oldest first; waking instances get the other places", async () => {
      const { journal } = bed()
      await journal.commit([
        ...Array.from({ length: 8 }, (_, n) => sleeper(`old-${n}`, 10 + n)),
        ...Array.from({ length: 3 }, (_, n) => start(`new-${n}`, 500 + n)),
      ])
      expect((await claimedIds(claimBy({ limit: 1, startsMin: 1 }))).toSorted()).toEqual(["new-0"])
      expect((await claimedIds(claimBy({ limit: 4, startsMin: 1 }))).toSorted()).toEqual(["new-1", "old-0", "old-1", "old-2"])
      expect((await claimedIds(claimBy({ limit: 3, startsMin: 2 }))).toSorted()).toEqual(["new-2", "old-3", "old-4"])
      expect(await claimedIds(claimBy({ limit: 3, startsMin: 2 }))).toEqual(["old-5", "old-6", "old-7"])
    })

    it("places for new starts are reserved within a priority, also for instances named by id", async () => {
      const { journal } = bed()
      await journal.commit([sleeper("high", 2, { flow: { priority: 3 } }), sleeper("plain", 3), start("new", 4)])
      const ids = ["high", "plain", "new"]
      expect(await claimedIds(claimBy({ limit: 1, startsMin: 1 }))).toEqual(["high"])
      expect(await claimedIds(claimBy({ ids, limit: 1, startsMin: 1 }))).toEqual(["new"])
    })

    it("with limits too: a waking instance that has its slots is claimed first, and fairness keys take turns within new starts", async () => {
      const { journal } = bed()
      const of = (lane: string) => [slots(100, lane)]
      await journal.commit([
        ...Array.from({ length: 40 }, (_, n) => limited(`crowd-${n}`, of("crowd"), { state: { dueAt: 10 + n } })),
        limited("single", of("single"), { state: { dueAt: 900_000 } }),
        limited("old", of("crowd"), { state: { status: "sleeping", dueAt: 950_000 } }),
      ])
      expect(await claimedIds(claimBy({ limit: 3 }))).toEqual(["old", "crowd-0", "single"])
    })

    it("an instance counts as begun from the turn on that gives it another status than queued", async () => {
      const { journal } = bed()
      await journal.commit([start("a", 10), start("b", 20), start("c", 30)])
      expect(await claimedIds(claimBy({ ids: ["c"] }))).toEqual(["c"])
      await journal.commit([turn("c", 3, { state: { status: "sleeping", run: 1, runPosition: 1, dueAt: 900_000 } })])
      expect(await claimedIds(claimBy({ limit: 2 }))).toEqual(["c", "a"])
    })

    it("the next due time is the earliest of both kinds", async () => {
      const { journal } = bed()
      const { offers } = claimBy()
      await journal.commit([start("new", 3_000_000), sleeper("old", 2_000_000)])
      expect(await journal.nextDueAt(offers)).toBe(2_000_000)
      await journal.commit([start("sooner", 1_500_000), start("soonest", 1_400_000, { flow: { priority: 1 } })])
      expect(await journal.nextDueAt(offers)).toBe(1_400_000)
    })
  })
}
