import { describe, expect, it } from "vitest"
import { claimBy, completed, creation, event, found, limited, slots, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

const checked = { isChecked: true } as const

export function declaredEventCases(bed: CurrentBed): void {
  describe("declared events", () => {
    it("are kept with the instance through all its states", async () => {
      const { journal, directory } = bed()
      const odd = ["paid", 'with "quotes"', "ä\u{1f600}", "nul\u0000", ""]
      await journal.commit([
        creation("i", { events: odd }),
        creation("none", { events: [] }),
        creation("free"),
        creation("tagged", { events: ["paid"], tags: ["t"], queue: "q" }),
      ])
      await journal.commit([limited("limited", [slots(1)], { events: ["paid"] })])
      await journal.commit([turn("i", 3, { state: { status: "sleeping", run: 1, runPosition: 1, dueAt: 1 }, tags: ["new"], memo: "1" })])
      expect((await directory.get("i"))?.events).toEqual(odd)
      expect((await directory.get("none"))?.events).toEqual([])
      expect(await directory.get("free")).not.toHaveProperty("events")
      for (const id of ["tagged", "limited"]) expect((await directory.get(id))?.events).toEqual(["paid"])
      const claimed = await journal.claim(claimBy())
      expect(claimed.find(({ instance }) => instance.id === "i")?.instance.events).toEqual(odd)
      const { items } = await directory.list({ idPrefix: "no" }, { limit: 9, order: "oldest" })
      expect(items.map(({ events }) => events)).toEqual([[]])
    })

    it("only declared events are delivered; each message gets its own answer", async () => {
      const { journal, directory } = bed()
      await journal.commit([
        creation("i", { events: ["paid", "void"] }),
        creation("none", { events: [] }),
        creation("free"),
        creation("done", { events: ["paid"], state: completed }),
      ])
      const answers = await directory.deliver([
        event("i", checked),
        event("i", { ...checked, topic: "payd" }),
        event("i", { ...checked, topic: "" }),
        event("none", checked),
        event("free", { ...checked, topic: "payd" }),
        event("done", { ...checked, topic: "payd" }),
        event("nobody", checked),
      ])
      expect(answers).toEqual(["delivered", "unknown-event", "unknown-event", "unknown-event", "delivered", "ended", "absent"])
      expect((await journal.readInbox(["i", "none", "free"])).map(({ instance, topic }) => `${instance} ${topic}`)).toEqual(["i paid", "free payd"])
    })

    it("are checked also for a single message, with an empty inbox or with unread messages", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i", { events: ["paid"] })])
      const wrong = event("i", { ...checked, topic: "payd" })
      expect(await directory.deliver([wrong])).toEqual(["unknown-event"])
      expect(await journal.claim(claimBy())).toEqual([])
      expect(await directory.deliver([event("i", { ...checked, eventId: "1" })])).toEqual(["delivered"])
      expect(await directory.deliver([event("i", { ...checked, eventId: "1" })])).toEqual(["duplicate"])
      expect(await directory.deliver([wrong])).toEqual(["unknown-event"])
      const unread = await journal.readInbox(["i"])
      expect(unread).toHaveLength(1)
      expect(found(unread[0])).not.toHaveProperty("isChecked")
    })

    it("do not refuse unchecked messages or control messages", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i", { events: ["paid"] }), creation("sender")])
      expect(await directory.deliver([event("i", { topic: "other" }), { instance: "i", kind: "pause", at: 1, topic: "why not" }])).toEqual([
        "delivered",
        "delivered",
      ])
      expect(await directory.deliver([event("i", { topic: "alone" })])).toEqual(["delivered"])
      await journal.commit([turn("sender", 3, { sends: [event("i", { topic: "sent" })] })])
      expect((await journal.readInbox(["i"])).map(({ topic }) => topic)).toEqual(["other", "why not", "alone", "sent"])
    })

    it("decide whether an instance is created for an event", async () => {
      const { journal, directory } = bed()
      const first = creation("new", { events: ["paid"], state: { status: "queued", dueAt: 1 } })
      expect(await directory.deliverOrCreate(event("new", { ...checked, topic: "payd" }), first)).toBe("unknown-event")
      expect(await directory.get("new")).toBeUndefined()
      expect(await directory.deliverOrCreate(event("new", checked), first)).toBe("created")
      expect((await journal.readInbox(["new"])).map(({ topic }) => topic)).toEqual(["paid"])
      // The events of the existing instance count, not those of the creation: the two may be of different versions.
      const later = creation("new", { incarnation: "later", events: ["shipped"], state: { status: "queued", dueAt: 1 } })
      expect(await directory.deliverOrCreate(event("new", checked), later)).toBe("delivered")
      expect(await directory.deliverOrCreate(event("new", { ...checked, topic: "shipped" }), later)).toBe("unknown-event")
      expect((await directory.get("new"))?.incarnation).toBe("new~1")
    })
  })
}
