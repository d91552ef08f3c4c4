import { describe, expect, it } from "vitest"
import type { RowState } from "../../ports/journal-store.ts"
import { claimBy, completed, creation, event, found, limited, rate, slots, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

export function lineCases(bed: CurrentBed): void {
  const claimed = async (more: Parameters<typeof claimBy>[0] = {}) => (await bed().journal.claim(claimBy(more))).map(({ instance }) => instance.id)
  const slotsOf = async (...ids: string[]) => Promise.all(ids.map(async (id) => (await bed().directory.get(id))?.slots))
  const state = (status: RowState["status"], more: Partial<RowState> = {}): RowState => ({ status, run: 1, runPosition: 1, ...more })
  const set = (id: string, position: number, to: RowState) => bed().journal.commit([turn(id, position, { state: to })])
  const control = (instance: string) => ({ instance, kind: "pause", at: 1_000_000 }) as const

  describe("slots", () => {
    it("a claim admits at most as many instances as the limit and queues the others; each row shows the outcome", async () => {
      await bed().journal.commit(["a", "b", "c"].map((id) => limited(id, [slots(2)])))
      expect(await slotsOf("a", "b", "c")).toEqual(["none", "none", "none"])
      const [first] = await bed().journal.claim(claimBy({ limit: 1 }))
      expect(found(first).instance).toEqual({ ...(await bed().directory.get("a")), owner: "a", slots: "taken" })
      expect(await claimed()).toEqual(["b"])
      expect(await slotsOf("a", "b", "c")).toEqual(["taken", "taken", "queuedForSlot"])
      expect(await claimed()).toEqual([])
      expect(await bed().journal.nextDueAt(claimBy().offers)).toBeUndefined()
    })

    it.each([
      ["ends", completed],
      ["is paused", { status: "paused", run: 1, runPosition: 1 }],
      ["stalls", { status: "stalled", run: 1, runPosition: 1 }],
      ["sleeps", { status: "sleeping", run: 1, runPosition: 1, dueAt: 9_000_000 }],
      ["waits", { status: "waiting", run: 1, runPosition: 1 }],
      ["is put off", { status: "queued", run: 1, runPosition: 1, dueAt: 9_000_000 }],
    ] as const)("whoever %s lets the next one in, in the same transaction, and tells of it", async (_, to) => {
      const { journal, flow } = bed()
      const admitted: string[] = []
      flow.onAdmitted((ids) => admitted.push(...ids))
      await journal.commit(["a", "b", "c"].map((id) => limited(id, [slots(1)])))
      await claimed()
      await set("a", 3, to)
      expect(admitted).toEqual(["b"])
      expect(await slotsOf("a", "b", "c")).toEqual(["none", "taken", "queuedForSlot"])
      expect(await journal.nextDueAt(claimBy().offers)).toBeLessThanOrEqual(bed().now)
      expect(await claimed({ ids: ["b", "c"] })).toEqual(["b"])
    })

    it("an instance that runs, sleeps in memory, or is released while running keeps its slots", async () => {
      const { journal } = bed()
      await journal.commit(["a", "b"].map((id) => limited(id, [slots(1)])))
      await claimed()
      await set("a", 3, state("running", { owner: "a" }))
      await set("a", 4, state("sleeping", { owner: "a", dueAt: 9_000_000 }))
      await set("a", 5, state("running", { owner: "a" }))
      await journal.release("a", ["a"])
      expect(await slotsOf("a", "b")).toEqual(["taken", "queuedForSlot"])
      expect(await claimed()).toEqual(["a"])
    })

    it("slots outlive the worker, and are not taken twice", async () => {
      const { journal } = bed()
      await journal.commit(["a", "b"].map((id) => limited(id, [slots(1)])))
      await claimed()
      await set("a", 3, state("running", { owner: "a" }))
      bed().now += 30_000
      const [again, ...others] = await journal.claim(claimBy({ worker: "w" }))
      expect([found(again).instance.id, found(again).crashed, found(again).instance.slots, others.length]).toEqual(["a", true, "taken", 0])
      await set("a", 4, completed)
      expect(await claimed()).toEqual(["b"])
    })

    it("an instance that slept in the memory of a worker that died or released it has no slots", async () => {
      const { journal } = bed()
      await journal.commit(["a", "b", "c"].map((id) => limited(id, [slots(1)])))
      await claimed()
      const asleep = state("sleeping", { owner: "a", dueAt: 9_000_000 })
      await set("a", 3, asleep)
      await journal.release("a", ["a"])
      expect(await slotsOf("a", "b")).toEqual(["none", "taken"])
      await claimed()
      await set("b", 3, asleep)
      await journal.renew("a", 0)
      expect(await slotsOf("b", "c")).toEqual(["none", "taken"])
    })

    it("an instance that wakes up queues for its slots again, behind the others", async () => {
      const { journal } = bed()
      await journal.commit(["a", "b", "c"].map((id) => limited(id, [slots(1)])))
      await claimed()
      await set("a", 3, state("sleeping", { dueAt: 1_000_001 }))
      expect(await claimed()).toEqual(["b"])
      bed().now += 1
      expect(await claimed()).toEqual([])
      expect(await slotsOf("a")).toEqual(["queuedForSlot"])
      await set("b", 3, completed)
      expect(await claimed()).toEqual(["c"])
      await set("c", 3, completed)
      expect(await claimed()).toEqual(["a"])
    })

    it("with hold it keeps its slot, and those of the limits before, while it sleeps or waits", async () => {
      const { journal } = bed()
      const limits = [slots(1, "x"), slots(2, undefined, { hold: true }), slots(1, undefined, { name: "last" })]
      await journal.commit([limited("a", limits), limited("b", limits), limited("c", [slots(1, "y"), ...limits.slice(1)])])
      expect(await claimed()).toEqual(["a"])
      await set("a", 3, state("waiting"))
      expect(await slotsOf("a", "b", "c")).toEqual(["none", "queuedForSlot", "taken"])
      await claimed()
      await set("c", 3, completed)
      expect(await claimed()).toEqual([])
      await bed().directory.deliver([event("a")])
      expect(await claimed()).toEqual(["a"])
      await set("a", 4, completed)
      expect(await claimed()).toEqual(["b"])
    })

    it("the surplus of one key waits on its own limit and holds up no other, also where both share a wider one", async () => {
      const { journal } = bed()
      const of = (id: string, key: string) => limited(id, [slots(1, key), slots(2)])
      await journal.commit([of("a1", "a"), of("a2", "a"), of("a3", "a"), of("b1", "b"), of("c1", "c"), of("b2", "b")])
      expect(await claimed()).toEqual(["a1", "b1"])
      await set("a1", 3, completed)
      // c1 was queued for the wide limit before a2.
      expect(await claimed()).toEqual(["c1"])
      await set("b1", 3, completed)
      expect(await claimed()).toEqual(["a2"])
      await set("a2", 3, completed)
      expect(await claimed()).toEqual(["b2"])
      await set("c1", 3, completed)
      expect(await claimed()).toEqual(["a3"])
    })

    it("queues for slots are ordered by priority, then by arrival", async () => {
      const { journal } = bed()
      await journal.commit([
        limited("first", [slots(1)]),
        limited("low", [slots(1)], { priority: -1 }),
        limited("plain", [slots(1)]),
        limited("high", [slots(1)], { priority: 7, state: { dueAt: 1_000_001 } }),
        limited("later", [slots(1)]),
      ])
      expect(await claimed()).toEqual(["first"])
      bed().now += 1
      expect(await claimed()).toEqual([])
      const order = []
      for (let running = "first"; running !== "";) {
        await set(running, 3, completed)
        running = (await claimed())[0] ?? ""
        order.push(running)
      }
      expect(order).toEqual(["high", "plain", "later", "low", ""])
    })

    it("an instance queued for a slot is claimed for a control message without slots, and not for an event", async () => {
      const { journal, directory } = bed()
      await journal.commit([limited("a", [slots(1)]), limited("b", [slots(1)])])
      await claimed()
      await directory.deliver([event("b")])
      expect(await claimed()).toEqual([])
      await directory.deliver([control("b")])
      const [bare] = await journal.claim(claimBy())
      expect([found(bare).instance.id, found(bare).instance.slots]).toEqual(["b", "queuedForSlot"])
      const message = (await journal.readInbox(["b"])).find(({ kind }) => kind === "pause")
      await journal.commit([turn("b", 3, { consumed: [found(message).seq], state: state("queued", { dueAt: 1_000_000 }) })])
      expect(await slotsOf("b")).toEqual(["queuedForSlot"])
      expect(await claimed()).toEqual([])
      await set("a", 3, completed)
      expect(await claimed()).toEqual(["b"])
    })

    it("an instance that sleeps, is delayed or is paused is claimed for a control message without slots", async () => {
      const { journal, directory } = bed()
      await journal.commit([
        limited("asleep", [slots(1)], { state: { status: "sleeping", dueAt: 9_000_000 } }),
        limited("delayed", [slots(1)], { state: { dueAt: 9_000_000 } }),
        limited("paused", [slots(1)], { state: { status: "paused" } }),
      ])
      await directory.deliver([control("asleep"), control("delayed"), control("paused")])
      expect((await journal.claim(claimBy())).map(({ instance }) => [instance.id, instance.slots])).toEqual([
        ["asleep", "none"],
        ["paused", "none"],
        ["delayed", "none"],
      ])
    })

    it("an instance queued for a slot is claimed at its deadline, without slots", async () => {
      const { journal } = bed()
      await journal.commit([limited("a", [slots(1)]), limited("b", [slots(1)], { state: { deadlineAt: 1_000_500 } })])
      await claimed()
      expect(await journal.nextDueAt(claimBy().offers)).toBe(1_000_500)
      bed().now = 1_000_500
      const [bare] = await journal.claim(claimBy())
      expect([found(bare).instance.id, found(bare).instance.slots]).toEqual(["b", "queuedForSlot"])
    })

    it("an instance that is being cancelled moves to the front of the queue", async () => {
      const { journal } = bed()
      await journal.commit(["a", "b", "c", "d"].map((id) => limited(id, [slots(1)])))
      await claimed()
      await set("c", 3, state("running", { phase: "cancelling", dueAt: 1_000_000 }))
      await set("a", 3, completed)
      expect(await claimed()).toEqual(["c"])
    })

    it("a new run joins the end of the queue", async () => {
      const { journal } = bed()
      await journal.commit(["a", "b", "c"].map((id) => limited(id, [slots(1)])))
      await claimed()
      await set("a", 3, { status: "queued", run: 2, runPosition: 3, dueAt: 1_000_000 })
      expect(await slotsOf("a", "b")).toEqual(["none", "taken"])
      expect(await claimed()).toEqual(["b"])
      await set("b", 3, completed)
      expect(await claimed()).toEqual(["c"])
      await set("c", 3, completed)
      expect(await claimed()).toEqual(["a"])
    })

    it("a lost turn releases no slot", async () => {
      const { journal } = bed()
      await journal.commit(["a", "b"].map((id) => limited(id, [slots(1)])))
      await claimed()
      await set("a", 3, state("running", { owner: "a" }))
      expect(await set("a", 3, completed)).toEqual(["lost"])
      expect(await slotsOf("a", "b")).toEqual(["taken", "queuedForSlot"])
    })

    it("a creation that is lost, or a turn that is sent again, changes nothing", async () => {
      const { journal } = bed()
      const create = limited("a", [slots(1)])
      const ending = turn("a", 3, { state: completed })
      await journal.commit([create, limited("b", [slots(1)]), limited("c", [slots(1)])])
      await claimed()
      await journal.commit([ending])
      expect(await claimed()).toEqual(["b"])
      expect(await journal.commit([create, ending])).toEqual(["committed", "committed"])
      expect(await slotsOf("a", "b", "c")).toEqual(["none", "taken", "queuedForSlot"])
    })
  })

  describe("rates", () => {
    it("a burst starts up to the limit at once, then one at a time; only the next in line has a time", async () => {
      const { journal } = bed()
      const ids = ["a", "b", "c", "d", "e"]
      await journal.commit(ids.map((id) => limited(id, [rate(2, 1_000)])))
      expect(await claimed()).toEqual(["a", "b"])
      expect(await journal.nextDueAt(claimBy().offers)).toBe(1_000_500)
      for (const [at, id] of [
        [1_000_500, "c"],
        [1_001_000, "d"],
        [1_001_500, "e"],
      ] as const) {
        bed().now = at - 1
        expect(await claimed()).toEqual([])
        bed().now = at
        expect(await claimed()).toEqual([id])
      }
      expect(await journal.nextDueAt(claimBy().offers)).toBeUndefined()
    })

    it("after a quiet time a burst is possible again, and keys count on their own", async () => {
      const { journal } = bed()
      const of = (id: string, key: string) => limited(id, [rate(2, 1_000, key)])
      await journal.commit([of("a1", "a"), of("a2", "a"), of("a3", "a"), of("b1", "b")])
      expect((await claimed()).toSorted()).toEqual(["a1", "a2", "b1"])
      bed().now += 500
      expect(await claimed()).toEqual(["a3"])
      bed().now += 1_500
      await journal.commit([of("a4", "a"), of("a5", "a"), of("a6", "a")])
      expect(await claimed()).toEqual(["a4", "a5"])
    })

    it("counts starts, not wake-ups; a new run is a start", async () => {
      const { journal } = bed()
      await journal.commit([limited("a", [rate(1, 1_000)])])
      expect(await claimed()).toEqual(["a"])
      await set("a", 3, state("sleeping", { dueAt: 1_000_000 }))
      expect(await claimed()).toEqual(["a"])
      await set("a", 4, { status: "queued", run: 2, runPosition: 4, dueAt: 1_000_000 })
      expect(await claimed()).toEqual([])
      bed().now += 1_000
      expect(await claimed()).toEqual(["a"])
    })

    it("a rate counts when instances start: instances delayed by another limit do not start all at once later", async () => {
      const { journal } = bed()
      const of = (id: string) => limited(id, [rate(1, 1_000, "k"), slots(1)])
      await journal.commit(["a", "b", "c"].map(of))
      expect(await claimed()).toEqual(["a"])
      bed().now += 5_000
      expect(await claimed()).toEqual([])
      await set("a", 3, completed)
      expect(await claimed()).toEqual(["b"])
      await set("b", 3, completed)
      expect(await claimed()).toEqual([])
      expect(await journal.nextDueAt(claimBy().offers)).toBe(bed().now + 1_000)
      bed().now += 1_000
      expect(await claimed()).toEqual(["c"])
    })

    it("the next instance of a rate is the one with the highest priority at that time", async () => {
      const { journal } = bed()
      await journal.commit([limited("a", [rate(1, 1_000)]), limited("b", [rate(1, 1_000)])])
      expect(await claimed()).toEqual(["a"])
      await journal.commit([limited("urgent", [rate(1, 1_000)], { priority: 1 })])
      expect(await claimed()).toEqual([])
      bed().now += 1_000
      expect(await claimed()).toEqual(["urgent"])
      expect(await claimed()).toEqual([])
      bed().now += 1_000
      expect(await claimed()).toEqual(["b"])
    })

    it("an instance that becomes the next while others are written is announced, because it has a start time", async () => {
      const { journal, flow } = bed()
      const told: string[] = []
      await journal.commit(["a", "b", "c"].map((id) => limited(id, [slots(1), rate(2, 1_000)])))
      expect(await claimed()).toEqual(["a"])
      await set("a", 3, completed)
      expect(await claimed()).toEqual(["b"])
      flow.onAdmitted((ids) => told.push(...ids))
      await set("b", 3, completed)
      expect(told).toEqual(["c"])
      expect(await journal.nextDueAt(claimBy().offers)).toBe(1_000_500)
    })

    it("the next instance of a rate that ends passes its turn on", async () => {
      const { journal } = bed()
      await journal.commit(["a", "b", "c"].map((id) => limited(id, [rate(1, 1_000)])))
      await claimed()
      await set("b", 3, { ...completed, status: "terminated" })
      bed().now += 1_000
      expect(await claimed()).toEqual(["c"])
    })
  })

  describe("claims in order", () => {
    it("higher priorities come first, whatever is due since when; those that are not due do not", async () => {
      const { journal } = bed()
      const of = (id: string, priority: number, dueAt: number) => creation(id, { flow: { priority }, state: { status: "queued", dueAt } })
      await journal.commit([of("low", -5, 1), creation("plain", { state: { dueAt: 2 } }), of("high", 9, 3), of("mid", 4, 4), of("future", 10, 2_000_000)])
      expect(await claimed({ limit: 1 })).toEqual(["high"])
      expect(await claimed()).toEqual(["mid", "plain", "low"])
      expect(await journal.nextDueAt(claimBy().offers)).toBe(2_000_000)
    })

    it("with few free places the keys of limits take turns", async () => {
      const { journal } = bed()
      const of = (id: string, key: string) => limited(id, [slots(100, key)])
      const burst = Array.from({ length: 40 }, (_, i) => of(`a${i}`, "a"))
      await journal.commit([...burst, of("b0", "b"), of("b1", "b"), of("c0", "c")])
      const first = await claimed({ limit: 6 })
      expect(first.filter((id) => id.startsWith("b"))).toEqual(["b0", "b1"])
      expect(first).toContain("c0")
      expect(first).toHaveLength(6)
      const rest = await claimed({ limit: 100 })
      expect(new Set([...first, ...rest]).size).toBe(43)
    })
  })
}
