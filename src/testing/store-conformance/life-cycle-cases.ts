import { describe, expect, it } from "vitest"
import { claimBy, creation, event, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

export function lifeCycleCases(bed: CurrentBed): void {
  describe("opening and closing", () => {
    it("data is there after closing and opening again", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i", { tags: ["t"] }), turn("i", 3)])
      await directory.deliver([event("i")])
      const before = [await directory.get("i"), await journal.readJournal("i", 1), await journal.readInbox(["i"])]
      await bed().close()
      const { directory: reopened, journal: again } = await bed().open()
      expect([await reopened.get("i"), await again.readJournal("i", 1), await again.readInbox(["i"])]).toEqual(before)
    })

    it("after closing every call is refused, and closing again does nothing", async () => {
      const store = await bed().open()
      await store.close()
      await store.close()
      const refused = { code: "ENGINE_CLOSED" }
      await expect(store.journal.commit([creation("i")])).rejects.toMatchObject(refused)
      await expect(store.journal.claim(claimBy())).rejects.toMatchObject(refused)
      await expect(store.journal.unread("a", 1)).rejects.toMatchObject(refused)
      await expect(store.journal.renew("a", 1)).rejects.toMatchObject(refused)
      await expect(store.journal.release("a", ["i"])).rejects.toMatchObject(refused)
      await expect(store.journal.readJournal("i", 1)).rejects.toMatchObject(refused)
      await expect(store.journal.readInbox(["i"])).rejects.toMatchObject(refused)
      await expect(store.journal.nextDueAt(claimBy().offers)).rejects.toMatchObject(refused)
      await expect(store.directory.deliver([event("i")])).rejects.toMatchObject(refused)
      await expect(store.directory.deliverOrCreate(event("i"), creation("i"))).rejects.toMatchObject(refused)
      await expect(store.directory.get("i")).rejects.toMatchObject(refused)
      await expect(store.directory.list({}, { limit: 1, order: "newest" })).rejects.toMatchObject(refused)
      await expect(store.directory.count({}, "status")).rejects.toMatchObject(refused)
      await expect(store.directory.remove(["i"])).rejects.toMatchObject(refused)
    })

    it("a store that is open sees what another one on the same data writes, and is given a hint", async () => {
      const { store, directory } = bed()
      const other = await bed().open()
      const hinted = new Promise<void>((resolve) => {
        const stop = store.onHint(() => {
          stop()
          resolve()
        })
      })
      await other.journal.commit([creation("i")])
      await hinted
      expect((await directory.get("i"))?.id).toBe("i")
    })
  })
}
