import { describe, expect, it } from "vitest"
import type { RowState } from "../../ports/journal-store.ts"
import { claimBy, completed, creation, event, limited, slots, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

export function uniqueCases(bed: CurrentBed): void {
  const singleton = { kind: "singleton", key: "order/x" } as const
  const debounce = { kind: "debounce", key: "order/x" } as const
  const only = (id: string, more: Partial<RowState> = {}) => creation(id, { flow: { unique: [singleton] }, state: more })
  const quiet = (id: string) => creation(id, { flow: { unique: [debounce] }, state: { status: "queued", dueAt: 1_000_100 } })

  describe("unique keys", () => {
    it("a creation is lost while another instance has its key, and writes nothing", async () => {
      const { journal, directory, flow } = bed()
      expect(await journal.commit([only("a"), only("b")])).toEqual(["committed", "lost"])
      expect(await directory.get("b")).toBeUndefined()
      expect(await journal.readJournal("b", 1)).toEqual([])
      expect(await flow.holder(singleton)).toBe("a")
      expect(await flow.holder(debounce)).toBeUndefined()
      expect(await directory.deliverOrCreate(event("b"), only("b"))).toBe("absent")
    })

    it("the same creation sent again is committed", async () => {
      const create = only("a")
      await bed().journal.commit([create])
      expect(await bed().journal.commit([create])).toEqual(["committed"])
    })

    it("a singleton's key is free when the instance ends; a restart takes it again, if it can", async () => {
      const { journal, flow } = bed()
      await journal.commit([only("a"), turn("a", 3, { state: completed })])
      expect(await flow.holder(singleton)).toBeUndefined()
      await journal.commit([only("b")])
      const again = { status: "running", run: 2, runPosition: 4, dueAt: 1 } as const
      expect(await journal.commit([turn("a", 4, { state: again })])).toEqual(["lost"])
      await journal.commit([turn("b", 3, { state: completed })])
      expect(await journal.commit([turn("a", 4, { state: again })])).toEqual(["committed"])
      expect(await flow.holder(singleton)).toBe("a")
      expect(await journal.commit([only("c")])).toEqual(["lost"])
    })

    it("a debounce key is free when the instance begins, and not when the instance only receives a message", async () => {
      const { journal, directory, flow } = bed()
      await journal.commit([quiet("a")])
      await directory.deliver([event("a")])
      expect((await journal.claim(claimBy())).map(({ instance }) => instance.id)).toEqual(["a"])
      expect(await flow.holder(debounce)).toBe("a")
      await journal.commit([turn("a", 3, { state: { status: "queued", run: 1, runPosition: 1, dueAt: 1_000_100 } })])
      expect(await flow.holder(debounce)).toBe("a")
      bed().now += 100
      expect((await journal.claim(claimBy())).map(({ instance }) => instance.id)).toEqual(["a"])
      expect(await flow.holder(debounce)).toBeUndefined()
      expect(await journal.commit([quiet("b")])).toEqual(["committed"])
    })

    it("a debounce's key is kept while the instance waits for a slot, and free when it is paused", async () => {
      const { journal, flow } = bed()
      const second = limited("b", [slots(1)], { flow: { limits: [slots(1)], unique: [debounce] } })
      await journal.commit([limited("a", [slots(1)]), second])
      await journal.claim(claimBy())
      expect(await flow.holder(debounce)).toBe("b")
      await journal.commit([turn("b", 3, { state: { status: "paused", run: 1, runPosition: 1 } })])
      expect(await flow.holder(debounce)).toBeUndefined()
    })

    it("a turn that is for a queued instance only is lost once somebody owns it, or it has begun", async () => {
      const { journal } = bed()
      const state = { status: "queued", run: 1, runPosition: 3, dueAt: 1_000_200 } as const
      await journal.commit([quiet("a")])
      expect(await journal.commit([turn("a", 3, { ifQueued: true, state })])).toEqual(["committed"])
      bed().now = 1_000_200
      await journal.claim(claimBy())
      expect(await journal.commit([turn("a", 4, { ifQueued: true, state })])).toEqual(["lost"])
      await journal.commit([turn("a", 4, { state: { status: "waiting", run: 1, runPosition: 3 } })])
      expect(await journal.commit([turn("a", 5, { ifQueued: true, state })])).toEqual(["lost"])
    })
  })
}
