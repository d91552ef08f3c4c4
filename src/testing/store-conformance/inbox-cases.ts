import { describe, expect, it } from "vitest"
import { completed, creation, event, found, idle, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

export function inboxCases(bed: CurrentBed): void {
  describe("inbox and delivery", () => {
    it("messages are read in the order of delivery, over several instances and calls", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("a"), creation("b"), creation("c")])
      await directory.deliver([event("a", { topic: "1", at: 9 }), event("b", { topic: "2", at: 5 }), event("a", { topic: "3", at: 1 })])
      await directory.deliver([event("c", { topic: "4" }), event("a", { topic: "5", at: 0 })])
      expect((await journal.readInbox(["a", "b", "c"])).map((message) => message.topic)).toEqual(["1", "2", "3", "4", "5"])
      expect((await journal.readInbox(["b", "a"])).map((message) => message.topic)).toEqual(["1", "2", "3", "5"])
      const seqs = (await journal.readInbox(["a", "b", "c"])).map((message) => message.seq)
      expect(seqs).toEqual(seqs.toSorted((x, y) => x - y))
      expect(new Set(seqs).size).toBe(5)
    })

    it("an inbox is read in parts: of each instance the oldest messages that are newer than a number", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("a"), creation("b")])
      await directory.deliver(["a", "b", "a", "a", "b", "a"].map((id, at) => event(id, { topic: `${id}${at}` })))
      const seqs = new Map((await journal.readInbox(["a", "b"])).map(({ topic, seq }) => [topic, seq]))
      const read = async (after: readonly string[], limit: number) => {
        const messages = await journal.readInbox(["b", "a"], { after: after.map((topic) => seqs.get(topic) ?? 0), limit })
        // Messages of different instances have no order between them.
        return ["a", "b"].flatMap((id) => messages.filter(({ instance }) => instance === id).map(({ topic }) => topic))
      }
      expect(await read(["", ""], 10)).toEqual(["a0", "a2", "a3", "a5", "b1", "b4"])
      expect(await read(["", ""], 1)).toEqual(["a0", "b1"])
      expect(await read(["b1", "a0"], 2)).toEqual(["a2", "a3", "b4"])
      expect(await read(["b4", "a3"], 2)).toEqual(["a5"])
      await journal.commit([turn("a", 3, { consumed: [found(seqs.get("a2"))] })])
      expect(await read(["b4", "a0"], 1)).toEqual(["a3"])
    })

    it("a turn that consumes many messages of a long inbox leaves the others", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i"), creation("other")])
      const events = Array.from({ length: 300 }, (_, at) => event(at % 2 === 0 ? "i" : "other", { topic: String(at) }))
      await directory.deliver([...events, { instance: "i", kind: "pause", at: 1 }])
      const messages = await journal.readInbox(["i"])
      await journal.commit([turn("i", 3, { consumed: messages.slice(0, 140).map(({ seq }) => seq) })])
      expect((await journal.readInbox(["i"])).map(({ seq }) => seq)).toEqual(messages.slice(140).map(({ seq }) => seq))
      expect(await journal.readInbox(["other"])).toHaveLength(150)
      await journal.commit([turn("i", 4, { consumed: messages.slice(140).map(({ seq }) => seq) })])
      expect(await journal.readInbox(["i"])).toEqual([])
    })

    it("a message is read back with exactly the fields that it was sent with", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i")])
      await directory.deliver([
        { instance: "i", kind: "event", at: 12, topic: "paid", payload: "[1]", eventId: "e" },
        { instance: "i", kind: "pause", at: 13 },
        { instance: "i", kind: "cancel", at: 14, topic: "" },
      ])
      const seq: unknown = expect.any(Number)
      expect(await journal.readInbox(["i"])).toStrictEqual([
        { seq, instance: "i", kind: "event", at: 12, topic: "paid", payload: "[1]", eventId: "e" },
        { seq, instance: "i", kind: "pause", at: 13 },
        { seq, instance: "i", kind: "cancel", at: 14, topic: "" },
      ])
    })

    it("each message of a call is answered on its own: delivered, duplicate, ended, absent", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i"), creation("done", { state: completed })])
      const answers = await directory.deliver([event("i", { eventId: "e" }), event("i", { eventId: "e" }), event("done"), event("nobody"), event("i")])
      expect(answers).toEqual(["delivered", "duplicate", "ended", "absent", "delivered"])
      expect(await journal.readInbox(["i", "done", "nobody"])).toHaveLength(2)
    })

    it("an event id is a duplicate only while it is unread, and only within its instance", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("a"), creation("b")])
      expect(await directory.deliver([event("a", { eventId: "e" }), event("b", { eventId: "e" })])).toEqual(["delivered", "delivered"])
      const [message] = await journal.readInbox(["a"])
      await journal.commit([turn("a", 3, { consumed: [found(message).seq] })])
      expect(await directory.deliver([event("a", { eventId: "e" })])).toEqual(["delivered"])
    })

    it("a turn consumes the messages that it names and no others", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i")])
      await directory.deliver([event("i", { topic: "1" }), event("i", { topic: "2" }), event("i", { topic: "3" })])
      const [first, , third] = await journal.readInbox(["i"])
      await journal.commit([turn("i", 3, { consumed: [found(first).seq, found(third).seq] })])
      expect((await journal.readInbox(["i"])).map((message) => message.topic)).toEqual(["2"])
    })

    it("a message number is never used again, also after the inbox was empty", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i")])
      await directory.deliver([event("i")])
      const [first] = await journal.readInbox(["i"])
      await journal.commit([turn("i", 3, { consumed: [found(first).seq] })])
      await directory.deliver([event("i")])
      const [second] = await journal.readInbox(["i"])
      expect(found(second).seq).toBeGreaterThan(found(first).seq)
    })

    it("a turn that requires an unchanged inbox is lost after a new message to its instance; messages to other instances do not matter", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i"), creation("other")])
      await directory.deliver([event("i")])
      const [seen] = await journal.readInbox(["i"])
      await directory.deliver([event("other")])
      expect(await journal.commit([turn("i", 3, { inboxSeen: found(seen).seq })])).toEqual(["committed"])
      await directory.deliver([event("i")])
      expect(await journal.commit([turn("i", 4, { inboxSeen: found(seen).seq, state: completed })])).toEqual(["lost"])
      expect((await directory.get("i"))?.status).toBe("waiting")
      const unread = await journal.readInbox(["i"])
      expect(await journal.commit([turn("i", 4, { inboxSeen: found(unread.at(-1)).seq, consumed: unread.map((message) => message.seq) })])).toEqual([
        "committed",
      ])
      expect(await journal.readInbox(["i"])).toEqual([])
    })

    it("a turn that consumes the messages it saw and would end its instance is lost if there are more messages", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i")])
      await directory.deliver([event("i")])
      const [seen] = await journal.readInbox(["i"])
      const end = turn("i", 3, { consumed: [found(seen).seq], inboxSeen: found(seen).seq, state: completed, discardInbox: true })
      await directory.deliver([event("i", { topic: "late" })])
      expect(await journal.commit([end])).toEqual(["lost"])
      expect((await journal.readInbox(["i"])).map((message) => message.topic)).toEqual([found(seen).topic, "late"])
      const late = (await journal.readInbox(["i"])).at(-1)
      expect(await journal.commit([{ ...end, inboxSeen: found(late).seq }])).toEqual(["committed"])
      expect(await journal.readInbox(["i"])).toEqual([])
      expect((await directory.get("i"))?.status).toBe("completed")
    })

    it("a turn that discards the inbox drops what is unread of its instance", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i"), creation("other")])
      await directory.deliver([event("i"), event("i"), event("other")])
      await journal.commit([turn("i", 3, { state: completed, discardInbox: true })])
      expect((await journal.readInbox(["i", "other"])).map((message) => message.instance)).toEqual(["other"])
    })

    it("a worker learns which of its own instances have unread messages", async () => {
      const { journal, directory } = bed()
      await journal.commit(["a", "b", "c"].map((id) => creation(id, { state: { owner: "w" } })))
      await journal.commit([creation("theirs", { state: { owner: "v" } }), creation("free")])
      await directory.deliver([event("b"), event("theirs"), event("free"), event("a"), event("a")])
      expect((await journal.unread("w", 10)).toSorted()).toEqual(["a", "b"])
      expect(await journal.unread("w", 1)).toHaveLength(1)
      expect(await journal.unread("nobody", 10)).toEqual([])
      const messages = await journal.readInbox(["a"])
      await journal.commit([turn("a", 3, { consumed: [found(messages[0]).seq] })])
      expect((await journal.unread("w", 10)).toSorted()).toEqual(["a", "b"])
      await journal.commit([turn("a", 4, { consumed: [found(messages[1]).seq] })])
      expect(await journal.unread("w", 10)).toEqual(["b"])
      await journal.commit([turn("b", 3, { state: idle })])
      expect(await journal.unread("w", 10)).toEqual([])
    })
  })
}
