import { describe, expect, it } from "vitest"
import type { Filter, PageRequest } from "../../ports/directory.ts"
import { claimBy, creation, event, found, slots, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

export function queueCases(bed: CurrentBed): void {
  const order = { workflow: "order", version: "1" }
  const due = { dueAt: 1 }
  const claimedIds = async (queues?: readonly string[], more: Parameters<typeof claimBy>[0] = {}) => {
    const claimed = await bed().journal.claim(claimBy({ offers: [queues === undefined ? order : { ...order, queues }], ...more }))
    return claimed.map(({ instance }) => instance.id).toSorted()
  }
  const listed = async (filter: Filter, page: Partial<PageRequest> = {}) => {
    const { items } = await bed().directory.list(filter, { limit: 100, order: "oldest", ...page })
    return items.map((item) => item.id)
  }

  describe("task queues", () => {
    it("a queue is part of the row, and stays whatever the instance comes to; the default one is not written down", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("a"), creation("b", { queue: "gpu" })])
      await journal.commit([turn("b", 3, { state: { status: "paused", run: 1, runPosition: 1 } })])
      expect(await directory.get("a")).not.toHaveProperty("queue")
      expect(await directory.get("b")).toMatchObject({ queue: "gpu", status: "paused" })
    })

    it("a worker that offers some queues claims only from these", async () => {
      const { journal } = bed()
      await journal.commit([
        creation("plain", { state: due }),
        creation("gpu", { state: due, queue: "gpu" }),
        creation("urgent", { state: due, queue: "gpu", flow: { priority: 5 } }),
        creation("mail", { state: due, queue: "mail" }),
      ])
      expect(await claimedIds([])).toEqual([])
      expect(await claimedIds(["nobody"])).toEqual([])
      expect(await claimedIds(["default"])).toEqual(["plain"])
      expect(await claimedIds(["gpu", "nobody"])).toEqual(["gpu", "urgent"])
      expect(await claimedIds(["default", "gpu", "mail"])).toEqual(["mail"])
    })

    it("a worker that names no queues claims from all queues, the oldest due first", async () => {
      const { journal } = bed()
      await journal.commit([
        creation("third", { state: { dueAt: 30 }, queue: "a" }),
        creation("first", { state: { dueAt: 10 }, queue: "b" }),
        creation("second", { state: { dueAt: 20 } }),
        creation("urgent", { state: { dueAt: 40 }, queue: "c", flow: { priority: 1 } }),
        creation("fourth", { state: { dueAt: 40 }, queue: "b" }),
      ])
      const claimed = await journal.claim(claimBy({ limit: 4 }))
      expect(claimed.map(({ instance }) => instance.id)).toEqual(["urgent", "first", "second", "third"])
    })

    it("an instance named by id is claimed only by a worker of its queue, also with limits or messages", async () => {
      const { journal, directory } = bed()
      await journal.commit([
        creation("named", { state: due, queue: "gpu" }),
        creation("limited", { state: { ...due, status: "queued" }, queue: "gpu", flow: { limits: [slots(1, "k")] } }),
        creation("mailed", { queue: "gpu" }),
      ])
      await directory.deliver([event("mailed")])
      expect(await claimedIds(["default"], { ids: ["named", "limited", "mailed"] })).toEqual([])
      expect(await claimedIds(["gpu"], { ids: ["named"] })).toEqual(["named"])
      expect(await claimedIds(["gpu"])).toEqual(["limited", "mailed"])
    })

    it("the next due time is that of the queues that are offered", async () => {
      const { journal } = bed()
      await journal.commit([
        creation("a", { state: { dueAt: 2_000_000 } }),
        creation("b", { state: { dueAt: 1_500_000 }, queue: "gpu" }),
        creation("c", { state: { dueAt: 1_200_000 }, queue: "mail", flow: { priority: 1 } }),
      ])
      expect(await journal.nextDueAt([order])).toBe(1_200_000)
      expect(await journal.nextDueAt([{ ...order, queues: ["default"] }])).toBe(2_000_000)
      expect(await journal.nextDueAt([{ ...order, queues: ["default", "gpu"] }])).toBe(1_500_000)
      expect(await journal.nextDueAt([{ ...order, queues: [] }])).toBeUndefined()
    })

    it("lists and counts keep to a queue, with the other filters and over pages", async () => {
      const { journal, directory } = bed()
      await journal.commit([
        creation("a", { createdAt: 100, queue: "gpu", tags: ["t"] }),
        creation("b", { createdAt: 200, queue: "gpu", state: { status: "failed" } }),
        creation("c", { createdAt: 300, queue: "gpu", workflow: "refund" }),
        creation("d", { createdAt: 400, tags: ["t"] }),
      ])
      expect(await listed({ queue: "gpu" })).toEqual(["a", "b", "c"])
      expect(await listed({ queue: "gpu" }, { order: "newest" })).toEqual(["c", "b", "a"])
      expect(await listed({ queue: "default" })).toEqual(["d"])
      expect(await listed({ queue: "nobody" })).toEqual([])
      expect(await listed({ queue: "gpu", workflow: "order" })).toEqual(["a", "b"])
      expect(await listed({ queue: "gpu", status: ["failed"] })).toEqual(["b"])
      expect(await listed({ queue: "gpu", tag: "t" })).toEqual(["a"])
      expect(await listed({ queue: "gpu", idPrefix: "c" })).toEqual(["c"])
      expect(await listed({ queue: "gpu", since: 200, until: 300 })).toEqual(["b"])
      const first = await directory.list({ queue: "gpu" }, { limit: 2, order: "oldest" })
      const second = await directory.list({ queue: "gpu" }, { limit: 2, order: "oldest", cursor: found(first.cursor) })
      expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(["a", "b", "c"])
      expect(await directory.count({ queue: "gpu" }, "status")).toEqual({ waiting: 2, failed: 1 })
      expect(await directory.count({ queue: "default" }, "workflow")).toEqual({ order: 1 })
    })
  })
}
