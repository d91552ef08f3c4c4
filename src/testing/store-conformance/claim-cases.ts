import { describe, expect, it } from "vitest"
import { claimBy, completed, creation, event, found, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

export function claimCases(bed: CurrentBed): void {
  const claimedIds = async (request = claimBy()) => (await bed().journal.claim(request)).map(({ instance }) => instance.id)

  describe("claim", () => {
    it("an instance that is due is claimed once, and its row names the owner", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i", { state: { status: "queued", dueAt: 1_000_000 } })])
      const before = await directory.get("i")
      expect(await journal.claim(claimBy())).toEqual([{ instance: { ...before, owner: "a" }, crashed: false }])
      expect((await directory.get("i"))?.owner).toBe("a")
      expect(await claimedIds(claimBy({ worker: "b" }))).toEqual([])
    })

    it("an instance that is not due, has no due time, or has an owner is not claimed", async () => {
      const { journal } = bed()
      await journal.renew("other", 30_000)
      await journal.commit([
        creation("later", { state: { dueAt: 1_000_001 } }),
        creation("idle"),
        creation("owned", { state: { dueAt: 5, owner: "other" } }),
        creation("ended", { state: completed }),
      ])
      expect(await claimedIds()).toEqual([])
      bed().now = 1_000_001
      expect(await claimedIds()).toEqual(["later"])
    })

    it("a worker reads which instances it owns, and no longer sees an instance that another worker claimed", async () => {
      const { journal } = bed()
      await journal.renew("a", 30_000)
      await journal.commit([creation("i", { state: { owner: "a" } }), creation("j", { state: { owner: "a" } }), creation("k")])
      expect((await journal.owned("a")).toSorted()).toEqual(["i", "j"])
      await journal.commit([turn("i", 3, { state: { status: "terminated", run: 1, runPosition: 1, endPosition: 3 } })])
      expect(await journal.owned("a")).toEqual(["j"])
      expect(await journal.owned("b")).toEqual([])
    })

    it("only offered workflows and versions are claimed", async () => {
      const { journal } = bed()
      const state = { dueAt: 1 }
      await journal.commit([creation("a", { state }), creation("b", { state, version: "2" }), creation("c", { state, workflow: "refund" })])
      await bed().directory.deliver([event("b"), event("c")])
      expect(await claimedIds(claimBy({ offers: [] }))).toEqual([])
      expect(await claimedIds(claimBy({ offers: [{ workflow: "refund", version: "2" }] }))).toEqual([])
      const offers = [
        { workflow: "order", version: "2" },
        { workflow: "refund", version: "1" },
      ]
      expect((await claimedIds(claimBy({ offers }))).toSorted()).toEqual(["b", "c"])
    })

    it("the oldest due come first, over all offers, up to the limit", async () => {
      const { journal } = bed()
      await journal.commit([
        creation("third", { state: { dueAt: 30 } }),
        creation("first", { state: { dueAt: 10 }, version: "2" }),
        creation("fourth", { state: { dueAt: 40 }, version: "2" }),
        creation("second", { state: { dueAt: 20 } }),
      ])
      const offers = [
        { workflow: "order", version: "1" },
        { workflow: "order", version: "2" },
      ]
      expect(await claimedIds(claimBy({ offers, limit: 3 }))).toEqual(["first", "second", "third"])
      expect(await claimedIds(claimBy({ offers, limit: 3 }))).toEqual(["fourth"])
    })

    it("a claim that names ids claims only these, under the same conditions", async () => {
      const { journal } = bed()
      const state = { dueAt: 1 }
      await journal.commit([creation("a", { state }), creation("b", { state }), creation("idle"), creation("v2", { state, version: "2" })])
      expect(await claimedIds(claimBy({ ids: ["b", "idle", "v2", "nobody", "b"] }))).toEqual(["b"])
      expect(await claimedIds(claimBy({ ids: [] }))).toEqual([])
      expect(await claimedIds()).toEqual(["a"])
    })

    it("a claim may name more ids than a statement can bind", async () => {
      const { journal } = bed()
      const ids = Array.from({ length: 250 }, (_, i) => `i${i}`)
      await journal.commit(ids.map((id) => creation(id, { state: { dueAt: 1 } })))
      expect((await claimedIds(claimBy({ ids, limit: 250 }))).length).toBe(250)
      expect(await journal.readInbox(ids)).toEqual([])
      await journal.release("a", ids)
      expect((await claimedIds(claimBy({ limit: 1000 }))).length).toBe(250)
    })

    it("an unowned instance with unread messages is claimed, also from a sender whose clock is ahead", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("a"), creation("b"), creation("c", { state: { dueAt: 1_900_000 } })])
      await directory.deliver([event("a"), event("c", { at: 9_000_000 })])
      expect((await claimedIds()).toSorted()).toEqual(["a", "c"])
    })

    it("messages that came while it was owned make it claimable once nobody owns it", async () => {
      const { journal, directory } = bed()
      await journal.renew("w", 30_000)
      await journal.commit([creation("turned", { state: { owner: "w" } }), creation("released", { state: { owner: "w" } })])
      await directory.deliver([event("turned"), event("released")])
      expect(await claimedIds()).toEqual([])
      await journal.commit([turn("turned", 3, { state: { status: "waiting", run: 1, runPosition: 1 } })])
      await journal.release("w", ["released"])
      expect((await claimedIds()).toSorted()).toEqual(["released", "turned"])
    })

    it("once its messages are consumed an instance is not claimed for them", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i")])
      await directory.deliver([event("i"), event("i")])
      const [first, second] = await journal.readInbox(["i"])
      await journal.commit([turn("i", 3, { consumed: [found(first).seq, found(second).seq] })])
      expect(await claimedIds()).toEqual([])
    })

    it.each(["paused", "stalled"] as const)("a %s instance is not claimed for events, but for control messages", async (status) => {
      const { journal, directory } = bed()
      await journal.commit([creation("i", { state: { status } }), creation("j", { state: { status } })])
      await directory.deliver([event("i"), event("i"), event("j")])
      expect(await claimedIds()).toEqual([])
      expect(await journal.nextDueAt(claimBy().offers)).toBeUndefined()
      await directory.deliver([{ instance: "i", kind: "resume", at: 1_000_000 }])
      expect(await claimedIds()).toEqual(["i"])
      const control = (await journal.readInbox(["i"])).find((message) => message.kind === "resume")
      await journal.commit([turn("i", 3, { consumed: [found(control).seq], state: { status, run: 1, runPosition: 1 } })])
      expect(await claimedIds()).toEqual([])
      await journal.commit([turn("i", 4, { state: { status: "waiting", run: 1, runPosition: 1 } })])
      expect(await claimedIds()).toEqual(["i"])
    })

    it("an instance that consumes some of its control messages and is released is claimed for the others", async () => {
      const { journal, directory } = bed()
      const state = { status: "paused", run: 1, runPosition: 1 } as const
      await journal.commit([creation("i", { state })])
      await directory.deliver([event("i"), { instance: "i", kind: "pause", at: 1_000_000 }, { instance: "i", kind: "resume", at: 1_000_000 }])
      expect(await claimedIds()).toEqual(["i"])
      const [, pause, resume] = await journal.readInbox(["i"])
      await journal.commit([turn("i", 3, { consumed: [found(pause).seq], state })])
      expect(await claimedIds()).toEqual(["i"])
      await journal.commit([turn("i", 4, { consumed: [found(resume).seq], state })])
      expect(await claimedIds()).toEqual([])
    })
  })

  describe("next due time", () => {
    it("is the earliest due time of the offered instances without an owner", async () => {
      const { journal } = bed()
      const { offers } = claimBy()
      expect(await journal.nextDueAt(offers)).toBeUndefined()
      await journal.renew("w", 30_000)
      await journal.commit([
        creation("a", { state: { dueAt: 3_000_000 } }),
        creation("b", { state: { dueAt: 2_000_000 } }),
        creation("owned", { state: { dueAt: 1_500_000, owner: "w" } }),
        creation("other", { state: { dueAt: 1_600_000 }, version: "2" }),
        creation("idle"),
      ])
      expect(await journal.nextDueAt(offers)).toBe(2_000_000)
      expect(await journal.nextDueAt([...offers, { workflow: "order", version: "2" }])).toBe(1_600_000)
      expect(await journal.nextDueAt([])).toBeUndefined()
      await journal.release("w", ["owned"])
      expect(await journal.nextDueAt(offers)).toBe(1_500_000)
    })

    it("an unread message is due at once", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i")])
      await directory.deliver([event("i")])
      expect(await journal.nextDueAt(claimBy().offers)).toBeLessThanOrEqual(bed().now)
    })
  })
}
