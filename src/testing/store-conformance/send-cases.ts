import { describe, expect, it } from "vitest"
import type { NewMessage } from "../../ports/journal-store.ts"
import { claimBy, completed, creation, event, found, idle, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

const news = (instance: string, more: Partial<NewMessage> = {}): NewMessage => ({
  instance,
  kind: "child",
  at: 1_000_000,
  topic: "step",
  payload: `{"n":1}`,
  ...more,
})

export function sendCases(bed: CurrentBed): void {
  describe("messages that a turn sends to others", () => {
    const topics = async (...ids: string[]) => (await bed().journal.readInbox(ids)).map(({ instance, topic }) => `${instance} ${topic}`)

    it("are delivered with the turn, in order, and keep all their fields", async () => {
      const { journal } = bed()
      await journal.commit([creation("i"), creation("a"), creation("b")])
      const sends = [news("a", { topic: "1" }), news("b", { topic: "2", kind: "terminate" }), news("a", { topic: "3", eventId: "e" })]
      expect(await journal.commit([turn("i", 3, { sends, state: completed })])).toEqual(["committed"])
      const seq: unknown = expect.any(Number)
      expect(await journal.readInbox(["a", "b"])).toStrictEqual(sends.map((message) => ({ ...message, seq })))
    })

    it("are delivered also with the turn that creates their sender, even if the sender ends at once", async () => {
      const { journal } = bed()
      await journal.commit([creation("parent")])
      expect(await journal.commit([{ ...creation("i", { state: completed }), sends: [news("parent")] }])).toEqual(["committed"])
      expect(await topics("parent")).toEqual(["parent step"])
    })

    it("to an instance that is over or absent are dropped, and hinder neither the turn nor the others", async () => {
      const { journal } = bed()
      await journal.commit([creation("i"), creation("a"), creation("over", { state: completed })])
      expect(await journal.commit([turn("i", 3, { sends: [news("over"), news("nobody"), news("a")] })])).toEqual(["committed"])
      expect(await topics("over", "nobody", "a")).toEqual(["a step"])
    })

    it("are not delivered when the turn is lost", async () => {
      const { journal } = bed()
      await journal.commit([creation("i"), creation("a")])
      await journal.commit([turn("i", 3)])
      expect(await journal.commit([turn("i", 3, { sends: [news("a")] }), { ...creation("a"), sends: [news("i")] }])).toEqual(["lost", "lost"])
      expect(await topics("i", "a")).toEqual([])
    })

    it("are delivered once, also when the turn is sent again after an unknown outcome", async () => {
      const { journal } = bed()
      await journal.commit([creation("a")])
      const first = { ...creation("i"), sends: [news("a", { topic: "1" })] }
      const second = turn("i", 3, { sends: [news("a", { topic: "2" })] })
      await journal.commit([first, second])
      expect(await journal.commit([second])).toEqual(["committed"])
      expect(await journal.commit([first])).toEqual(["committed"])
      expect(await topics("a")).toEqual(["a 1", "a 2"])
    })

    it("reach an instance that a turn before it in the batch created, and not one that it ended", async () => {
      const { journal } = bed()
      await journal.commit([creation("i"), creation("ends")])
      const batch = [creation("new"), turn("ends", 3, { state: completed, discardInbox: true }), turn("i", 3, { sends: [news("new"), news("ends")] })]
      expect(await journal.commit(batch)).toEqual(["committed", "committed", "committed"])
      expect(await topics("new", "ends")).toEqual(["new step"])
    })

    it("to its own instance are there after what was unread is dropped", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i")])
      await directory.deliver([event("i", { topic: "old" })])
      await journal.commit([turn("i", 3, { discardInbox: true, sends: [news("i", { topic: "new" })], state: { ...idle, run: 2, runPosition: 3 } })])
      expect(await topics("i")).toEqual(["i new"])
    })

    it("that are for one incarnation reach no other that has the id, and neither do messages delivered so", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i"), creation("a", { incarnation: "a~2" })])
      await journal.commit([turn("i", 3, { sends: [news("a", { topic: "old", incarnation: "a~1" }), news("a", { topic: "new", incarnation: "a~2" })] })])
      expect(await directory.deliver([event("a", { incarnation: "a~1" }), event("a", { topic: "third", incarnation: "a~2" })])).toEqual(["absent", "delivered"])
      expect(await topics("a")).toEqual(["a new", "a third"])
      expect(found((await journal.readInbox(["a"]))[0])).not.toHaveProperty("incarnation")
    })

    it("come by the thousand in one commit", async () => {
      const { journal } = bed()
      const ids = Array.from({ length: 1_000 }, (_, i) => `c${i}`)
      await journal.commit([creation("i"), ...ids.map((id) => creation(id))])
      await journal.commit([turn("i", 3, { sends: ids.map((id) => news(id, { kind: "cancel" })) })])
      expect(await journal.readInbox(ids)).toHaveLength(1_000)
      await journal.commit(ids.map((id) => turn(id, 3, { state: completed, sends: [news("i", { topic: id })] })))
      expect((await journal.readInbox(["i"])).map(({ topic }) => topic)).toEqual(ids)
    })

    it("may be as large as a payload can be", async () => {
      const { journal } = bed()
      const payload = JSON.stringify("ü\u0000😀".repeat(1_500_000))
      await journal.commit([creation("i"), creation("a")])
      await journal.commit([turn("i", 3, { sends: [news("a", { payload }), news("a", { topic: "small" })] })])
      const [large, small] = await journal.readInbox(["a"])
      expect(found(large).payload === payload).toBe(true)
      expect(found(small).topic).toBe("small")
    })

    it("wake their receiver: results of children and updates do not wake a paused or stalled instance, a terminate does", async () => {
      const { journal } = bed()
      for (const status of ["waiting", "paused", "stalled"] as const) {
        const kinds = ["child", "update", "terminate", "cancel"] as const
        await journal.commit([creation(`from-${status}`), ...kinds.map((kind) => creation(`${status}-${kind}`, { state: { status } }))])
        await journal.commit([turn(`from-${status}`, 3, { sends: kinds.map((kind) => news(`${status}-${kind}`, { kind })) })])
        const woken = (await journal.claim(claimBy())).map(({ instance }) => instance.id).toSorted()
        expect(woken).toEqual((status === "waiting" ? kinds : (["terminate", "cancel"] as const)).map((kind) => `${status}-${kind}`).toSorted())
      }
    })
  })

  describe("a creation that belongs to a run of another instance", () => {
    const within = { instance: "parent", incarnation: "parent~1", run: 2 }
    const child = (id: string) => ({ ...creation(id), within })

    it("is committed while that run is under way, whatever its status", async () => {
      const { journal } = bed()
      await journal.commit([creation("parent", { state: { status: "paused", run: 2 } })])
      expect(await journal.commit([child("a")])).toEqual(["committed"])
      expect(await bed().directory.get("a")).not.toHaveProperty("within")
    })

    it("is lost when that run is over, another has begun, or the instance is gone or another", async () => {
      const { journal, directory } = bed()
      expect(await journal.commit([child("a")])).toEqual(["lost"])
      await journal.commit([creation("parent", { state: { run: 1 } })])
      expect(await journal.commit([child("a")])).toEqual(["lost"])
      await journal.commit([turn("parent", 3, { state: { ...idle, run: 3 } })])
      expect(await journal.commit([child("a")])).toEqual(["lost"])
      await journal.commit([turn("parent", 4, { state: { ...completed, run: 2 } })])
      expect(await journal.commit([child("a")])).toEqual(["lost"])
      await directory.remove(["parent"])
      await journal.commit([creation("parent", { incarnation: "parent~2", state: { run: 2 } })])
      expect(await journal.commit([child("a")])).toEqual(["lost"])
      expect(await directory.get("a")).toBeUndefined()
    })

    it("is decided in the order of its batch", async () => {
      const { journal } = bed()
      await journal.commit([creation("parent", { state: { run: 2 } })])
      expect(await journal.commit([child("a"), turn("parent", 3, { state: completed }), child("b")])).toEqual(["committed", "committed", "lost"])
    })

    it("was committed, also when it is sent again after the run is over", async () => {
      const { journal } = bed()
      await journal.commit([creation("parent", { state: { run: 2 } })])
      const first = child("a")
      await journal.commit([first])
      await journal.commit([turn("parent", 3, { state: completed })])
      expect(await journal.commit([first])).toEqual(["committed"])
    })
  })
}
