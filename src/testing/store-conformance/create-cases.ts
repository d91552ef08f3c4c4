import { describe, expect, it } from "vitest"
import { completed, creation, event, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

export function createCases(bed: CurrentBed): void {
  describe("creation", () => {
    it("a creation writes the row with all fields of the request", async () => {
      const { journal, directory } = bed()
      const create = creation("i", { version: "2", tags: ["b", "a"], state: { status: "queued", dueAt: 3_000_000, owner: "w", phase: "cancelling" } })
      await journal.commit([create])
      expect(await directory.get("i")).toEqual({ ...create.create, ...create.state, updatedAt: create.at })
    })

    it("a creation is lost if the id exists, and leaves the existing instance unchanged", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i", { tags: ["mine"] })])
      const before = await directory.get("i")
      const other = creation("i", { incarnation: "i~2", workflow: "refund", tags: ["theirs"] })
      expect(await journal.commit([other])).toEqual(["lost"])
      expect(await directory.get("i")).toEqual(before)
      expect(await journal.readJournal("i", 1)).toHaveLength(1)
      expect((await directory.list({ tag: "theirs" }, { limit: 10, order: "oldest" })).items).toEqual([])
    })

    it("two creations of one id in one batch: the first wins", async () => {
      const { journal } = bed()
      expect(await journal.commit([creation("i"), creation("i", { incarnation: "i~2" })])).toEqual(["committed", "lost"])
    })

    it("an id is free again once its instance is removed", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i", { state: completed })])
      await directory.remove(["i"])
      expect(await journal.commit([creation("i", { incarnation: "i~2" })])).toEqual(["committed"])
      expect((await directory.get("i"))?.incarnation).toBe("i~2")
      expect(await journal.readJournal("i", 1)).toHaveLength(1)
    })

    it("ids differ by case, blanks and accents", async () => {
      const { journal, directory } = bed()
      const ids = ["order", "Order", "order ", "ördér", "o\u0308rder"]
      expect(await journal.commit(ids.map((id) => creation(id)))).toEqual(ids.map(() => "committed"))
      for (const id of ids) expect((await directory.get(id))?.id).toBe(id)
    })
  })

  describe("delivery or creation", () => {
    it("a free id is created, and the message is in its inbox", async () => {
      const { journal, directory } = bed()
      expect(await directory.deliverOrCreate(event("i"), creation("i"))).toBe("created")
      expect((await directory.get("i"))?.status).toBe("waiting")
      expect(await journal.readInbox(["i"])).toHaveLength(1)
    })

    it("an instance that exists gets the message only", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i"), turn("i", 3)])
      expect(await directory.deliverOrCreate(event("i"), creation("i", { incarnation: "i~2" }))).toBe("delivered")
      expect((await directory.get("i"))?.incarnation).toBe("i~1")
      expect(await journal.readInbox(["i"])).toHaveLength(1)
    })

    it("sent again after an unknown outcome it delivers no second message", async () => {
      const { journal, directory } = bed()
      const create = creation("i")
      expect(await directory.deliverOrCreate(event("i"), create)).toBe("created")
      expect(await directory.deliverOrCreate(event("i"), create)).toBe("created")
      expect(await journal.readInbox(["i"])).toHaveLength(1)
    })

    it("an instance that ended takes no message, and an unread event id is a duplicate", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("done", { state: completed }), creation("i")])
      await directory.deliver([event("i", { eventId: "e1" })])
      expect(await directory.deliverOrCreate(event("done"), creation("done", { incarnation: "x" }))).toBe("ended")
      expect(await directory.deliverOrCreate(event("i", { eventId: "e1" }), creation("i", { incarnation: "x" }))).toBe("duplicate")
    })
  })
}
