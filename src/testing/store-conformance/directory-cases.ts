import { describe, expect, it } from "vitest"
import { PerdureError } from "../../core/errors.ts"
import type { Filter, PageRequest } from "../../ports/directory.ts"
import { hostileWords } from "./hostile-words.ts"
import { completed, creation, event, found, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

export function directoryCases(bed: CurrentBed): void {
  const listed = async (filter: Filter, page: Partial<PageRequest> = {}) => {
    const { items } = await bed().directory.list(filter, { limit: 100, order: "oldest", ...page })
    return items.map((item) => item.id)
  }

  const populate = async () => {
    await bed().journal.commit([
      creation("order/1", { createdAt: 100, tags: ["eu", "big"] }),
      creation("order/2", { createdAt: 300, state: { status: "failed" } }),
      creation("order/3", { createdAt: 200, version: "2", tags: ["eu"], state: completed }),
      creation("refund/1", { createdAt: 200, workflow: "refund", state: { status: "failed" } }),
      creation("orders", { createdAt: 400, workflow: "refund", tags: ["big"] }),
    ])
  }

  describe("list", () => {
    it("goes by creation time, and by the order of creation within one millisecond, either way", async () => {
      await populate()
      const oldest = ["order/1", "order/3", "refund/1", "order/2", "orders"]
      expect(await listed({})).toEqual(oldest)
      expect(await listed({}, { order: "newest" })).toEqual(oldest.toReversed())
    })

    it("keeps to each filter, and to all of them together", async () => {
      await populate()
      expect(await listed({ workflow: "refund" })).toEqual(["refund/1", "orders"])
      expect(await listed({ version: "2" })).toEqual(["order/3"])
      expect(await listed({ status: ["failed"] })).toEqual(["refund/1", "order/2"])
      expect(await listed({ status: ["failed", "completed"] })).toEqual(["order/3", "refund/1", "order/2"])
      expect(await listed({ status: [] })).toEqual([])
      expect(await listed({ tag: "eu" })).toEqual(["order/1", "order/3"])
      expect(await listed({ tag: "big" }, { order: "newest" })).toEqual(["orders", "order/1"])
      expect(await listed({ tag: "none" })).toEqual([])
      expect(await listed({ since: 200, until: 400 })).toEqual(["order/3", "refund/1", "order/2"])
      expect(await listed({ idPrefix: "order/" })).toEqual(["order/1", "order/3", "order/2"])
      expect(await listed({ idPrefix: "order" })).toEqual(["order/1", "order/3", "order/2", "orders"])
      expect(await listed({ idPrefix: "" })).toHaveLength(5)
      expect(await listed({ workflow: "order", version: "1", status: ["failed", "waiting"], tag: "eu", since: 100, until: 101, idPrefix: "order/1" })).toEqual([
        "order/1",
      ])
    })

    it("takes an id prefix literally, up to its last character", async () => {
      await bed().journal.commit(["a%b", "a_b", "axb", "A%b", "a%\u{10ffff}", "a\u{1f600}b", "a\uffff", "a\ud7ff!", "b"].map((id) => creation(id)))
      expect(await listed({ idPrefix: "a%" })).toEqual(["a%b", "a%\u{10ffff}"])
      expect(await listed({ idPrefix: "a_" })).toEqual(["a_b"])
      expect(await listed({ idPrefix: "a\u{1f600}" })).toEqual(["a\u{1f600}b"])
      expect(await listed({ idPrefix: "a\ud7ff" })).toEqual(["a\ud7ff!"])
      expect(await listed({ idPrefix: "a%\u{10ffff}" })).toEqual(["a%\u{10ffff}"])
      expect(await listed({ idPrefix: "a" })).toHaveLength(7)
    })

    it("takes an id prefix with U+0000 or a lone surrogate as text that no id begins with", async () => {
      await populate()
      for (const idPrefix of ["\0", "order\0", "\ud800", "order\udfff", "\u0001"]) {
        expect(await listed({ idPrefix })).toEqual([])
        expect(await listed({ idPrefix, status: ["failed"], workflow: "order" })).toEqual([])
        expect(await bed().directory.count({ idPrefix }, "status")).toEqual({})
      }
    })

    it("pages hold every row once, also while rows are inserted and removed", async () => {
      const { journal, directory } = bed()
      const ids = Array.from({ length: 10 }, (_, i) => `i${i}`)
      await journal.commit(ids.map((id, i) => creation(id, { createdAt: 100 + Math.floor(i / 4), state: completed })))
      const seen: string[] = []
      let cursor: string | undefined
      for (let page = 0; page < 10; page++) {
        const answer = await directory.list({}, { limit: 3, order: "newest", ...(cursor === undefined ? {} : { cursor }) })
        seen.push(...answer.items.map((item) => item.id))
        await journal.commit([creation(`new${page}`, { createdAt: 500 + page })])
        await directory.remove([found(seen[0])])
        cursor = answer.cursor
        if (cursor === undefined) break
      }
      expect(seen).toEqual(ids.toReversed())
    })

    it("gives a cursor only if there is another page, with several statuses too", async () => {
      await populate()
      const { directory } = bed()
      const filter: Filter = { status: ["failed", "waiting", "completed"] }
      const first = await directory.list(filter, { limit: 4, order: "oldest" })
      expect(first.items.map((item) => item.id)).toEqual(["order/1", "order/3", "refund/1", "order/2"])
      expect(first.cursor).toEqual(expect.any(String))
      const second = await directory.list(filter, { limit: 4, order: "oldest", cursor: found(first.cursor) })
      expect(second).toEqual({ items: [expect.objectContaining({ id: "orders" })] })
      expect(await directory.list(filter, { limit: 5, order: "oldest" })).not.toHaveProperty("cursor")
    })

    it("follows tags over pages", async () => {
      const { journal, directory } = bed()
      await journal.commit(["a", "b", "c"].map((id) => creation(id, { tags: ["t"], createdAt: 7 })))
      const first = await directory.list({ tag: "t" }, { limit: 2, order: "newest" })
      const second = await directory.list({ tag: "t" }, { limit: 2, order: "newest", cursor: found(first.cursor) })
      expect([...first.items, ...second.items].map((item) => item.id)).toEqual(["c", "b", "a"])
    })

    it("refuses a foreign cursor", async () => {
      for (const cursor of ["", "nonsense", "%%%"]) {
        await expect(bed().directory.list({}, { limit: 1, order: "newest", cursor })).rejects.toMatchObject({ code: "BAD_OPTION" })
      }
    })
  })

  describe("words that become part of a statement", () => {
    /** The words that the store accepted. */
    const taken = async (ask: (word: unknown) => Promise<unknown>) => {
      const codes = hostileWords.map(async ([name, word]) => {
        const refusal: unknown = await ask(word).catch((error: unknown) => error)
        return PerdureError.is(refusal, "BAD_OPTION") ? [] : [name]
      })
      return (await Promise.all(codes)).flat()
    }

    it("refuses to count by anything but status or workflow, and runs no statement", async () => {
      await populate()
      expect(await taken((word) => bed().directory.count({}, word as "status"))).toEqual([])
      expect(await listed({})).toHaveLength(5)
    })

    it("refuses an unknown order, and runs no statement", async () => {
      await populate()
      expect(await taken((word) => bed().directory.list({}, { limit: 10, order: word as "newest" }))).toEqual([])
      expect(await taken((word) => bed().directory.list({ status: [] }, { limit: 10, order: word as "newest" }))).toEqual([])
      expect(await listed({})).toHaveLength(5)
    })

    it("refuses an unknown status, and runs no statement", async () => {
      await populate()
      expect(await taken((word) => bed().directory.count({ status: [word as "failed"] }, "status"))).toEqual([])
      expect(await taken((word) => bed().directory.list({ status: [word as "failed"] }, { limit: 10, order: "newest" }))).toEqual([])
      expect(await listed({})).toHaveLength(5)
    })
  })

  describe("count", () => {
    it("counts by status or by workflow, with the same filters", async () => {
      await populate()
      const { directory, journal } = bed()
      expect(await directory.count({}, "status")).toEqual({ waiting: 2, failed: 2, completed: 1 })
      expect(await directory.count({}, "workflow")).toEqual({ order: 3, refund: 2 })
      expect(await directory.count({ tag: "eu" }, "status")).toEqual({ waiting: 1, completed: 1 })
      expect(await directory.count({ status: ["failed", "waiting"] }, "workflow")).toEqual({ order: 2, refund: 2 })
      expect(await directory.count({ status: [] }, "workflow")).toEqual({})
      expect(await directory.count({ idPrefix: "order/", since: 200 }, "status")).toEqual({ failed: 1, completed: 1 })
      await journal.commit([turn("order/1", 3, { state: completed })])
      expect(await directory.count({}, "status")).toEqual({ waiting: 1, failed: 2, completed: 2 })
    })
  })

  describe("workflows with names of a prototype", () => {
    it("are counted as others are", async () => {
      const { journal, directory } = bed()
      const names = ["constructor", "__proto__", "toString"]
      await journal.commit(names.flatMap((workflow) => [1, 2].map((n) => creation(`${workflow}${n}`, { workflow }))))
      const counts = new Map(Object.entries(await directory.count({}, "workflow")))
      expect(counts).toEqual(new Map(names.map((name) => [name, 2])))
    })
  })

  describe("remove", () => {
    it("removes ended instances with all that belongs to them, and leaves the others", async () => {
      const { journal, directory } = bed()
      await populate()
      await journal.commit([turn("order/2", 3, { blobs: ["x".repeat(300_000)] })])
      expect(await directory.remove(["order/1", "order/2", "order/3", "nobody", "order/2"])).toEqual(["order/2", "order/3"])
      expect(await listed({})).toEqual(["order/1", "refund/1", "orders"])
      expect(await listed({ tag: "eu" })).toEqual(["order/1"])
      expect(await directory.get("order/2")).toBeUndefined()
      expect(await journal.readJournal("order/2", 1)).toEqual([])
      expect(await directory.deliver([event("order/2")])).toEqual(["absent"])
      expect(await directory.count({}, "workflow")).toEqual({ order: 1, refund: 2 })
    })

    it("removes nothing for an empty list of ids, and removes instances of all four terminal statuses", async () => {
      const { journal, directory } = bed()
      expect(await directory.remove([])).toEqual([])
      const ended = ["completed", "failed", "cancelled", "terminated"] as const
      const open = ["queued", "running", "sleeping", "waiting", "paused", "stalled"] as const
      await journal.commit([...ended, ...open].map((status) => creation(status, { state: { status } })))
      expect((await directory.remove([...ended, ...open])).toSorted()).toEqual(ended.toSorted())
      expect((await listed({})).toSorted()).toEqual(open.toSorted())
    })
  })
}
