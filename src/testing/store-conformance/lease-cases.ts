import { describe, expect, it } from "vitest"
import { claimBy, completed, creation, event, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

export function leaseCases(bed: CurrentBed): void {
  const running = (owner: string) => ({ status: "running", owner }) as const
  const claimed = async (worker: string) => (await bed().journal.claim(claimBy({ worker }))).map(({ instance, crashed }) => [instance.id, crashed])

  describe("leases", () => {
    it("an instance whose lease expired is claimed again, as crashed", async () => {
      const { journal } = bed()
      await journal.commit([creation("i", { state: { status: "running", dueAt: 1 } })])
      expect(await claimed("a")).toEqual([["i", false]])
      bed().now += 29_999
      expect(await claimed("b")).toEqual([])
      bed().now += 1
      expect(await claimed("b")).toEqual([["i", true]])
      expect((await bed().directory.get("i"))?.owner).toBe("b")
    })

    it("a renewed lease holds for all instances of its worker", async () => {
      const { journal } = bed()
      await journal.renew("a", 30_000)
      await journal.commit([creation("i", { state: running("a") }), creation("j", { state: running("a") })])
      bed().now += 20_000
      await journal.renew("a", 30_000)
      bed().now += 20_000
      expect(await claimed("b")).toEqual([])
      bed().now += 10_000
      expect(await claimed("b")).toEqual([
        ["i", true],
        ["j", true],
      ])
    })

    it("turns of a worker that lost its lease are committed until another worker writes", async () => {
      const { journal } = bed()
      await journal.renew("a", 10)
      await journal.commit([creation("i", { state: running("a") })])
      bed().now += 1_000
      expect(await journal.commit([turn("i", 3)])).toEqual(["committed"])
      expect(await claimed("b")).toEqual([["i", true]])
      expect(await journal.commit([turn("i", 4, { entries: "b" })])).toEqual(["committed"])
      expect(await journal.commit([turn("i", 4, { entries: "a" })])).toEqual(["lost"])
    })

    it("the list of workers shows each lease and its end", async () => {
      const { journal, directory } = bed()
      expect(await directory.workers()).toEqual([])
      await journal.renew("b", 10)
      await journal.commit([creation("i", { state: { status: "running", dueAt: 1 } })])
      expect(await claimed("a")).toEqual([["i", false]])
      const told = async () => (await directory.workers()).toSorted((one, other) => (one.worker < other.worker ? -1 : 1))
      expect(await told()).toEqual([
        { worker: "a", until: bed().now + 30_000 },
        { worker: "b", until: bed().now + 10 },
      ])
      bed().now += 20_000
      await journal.renew("a", 30_000)
      expect(await told()).toContainEqual({ worker: "a", until: bed().now + 30_000 })
      await journal.renew("a", 0)
      await journal.renew("b", 0)
      expect(await directory.workers()).toEqual([])
    })

    it("the offers of a worker are shown with its lease; claims and renewals without offers do not change them", async () => {
      const { journal, directory } = bed()
      const offers = [
        { workflow: "order", version: "1" },
        { workflow: "refund", version: "ü/2", queues: ["gpu", "default"] },
      ]
      await journal.renew("a", 30_000, offers)
      await journal.renew("silent", 30_000)
      const told = async () => Object.fromEntries((await directory.workers()).map((one) => [one.worker, one.offers]))
      expect(await told()).toEqual({ a: offers, silent: undefined })
      await journal.commit([creation("i", { state: { status: "running", dueAt: 1 } })])
      expect(await claimed("a")).toEqual([["i", false]])
      await journal.renew("a", 30_000)
      await journal.renew("a", 30_000, offers)
      expect(await told()).toEqual({ a: offers, silent: undefined })
      await journal.renew("a", 30_000, offers.slice(1))
      expect(await told()).toEqual({ a: offers.slice(1), silent: undefined })
      await journal.renew("a", 0)
      await journal.renew("b", 30_000, offers)
      await journal.renew("a", 30_000)
      expect(await told()).toEqual({ a: undefined, b: offers, silent: undefined })
    })

    it("a worker that claims again after its lease expired has not crashed", async () => {
      const { journal } = bed()
      await journal.renew("a", 10)
      await journal.commit([creation("i", { state: running("a") })])
      bed().now += 1_000
      expect(await claimed("a")).toEqual([])
      expect((await bed().directory.get("i"))?.owner).toBe("a")
    })

    it("ending a lease counts as a crash at once", async () => {
      const { journal } = bed()
      await journal.renew("a", 30_000)
      await journal.commit([creation("i", { state: running("a") })])
      await journal.renew("a", 0)
      expect(await journal.nextDueAt(claimBy().offers)).toBe(bed().now)
      expect(await claimed("b")).toEqual([["i", true]])
    })

    it("a released instance has not crashed; it is due at once if it was running, else at its due time", async () => {
      const { journal } = bed()
      await journal.renew("a", 30_000)
      await journal.commit([
        creation("run", { state: running("a") }),
        creation("sleep", { state: { status: "sleeping", dueAt: 1_500_000, owner: "a" } }),
        creation("kept", { state: running("a") }),
      ])
      await journal.release("b", ["kept"])
      await journal.release("a", ["run", "sleep", "nobody"])
      expect((await bed().directory.get("run"))?.dueAt).toBe(bed().now)
      expect((await bed().directory.get("run"))?.updatedAt).toBe(1_000_000)
      expect(await claimed("b")).toEqual([["run", false]])
      expect(await journal.nextDueAt(claimBy().offers)).toBe(1_500_000)
      expect((await bed().directory.get("kept"))?.owner).toBe("a")
    })

    it("a crashed instance that waits is claimed as crashed when something wakes it", async () => {
      const { journal, directory } = bed()
      await journal.renew("a", 10)
      await journal.commit([
        creation("wait", { state: { status: "waiting", owner: "a" } }),
        creation("sleep", { state: { status: "sleeping", dueAt: 1_500_000, owner: "a" } }),
      ])
      bed().now += 10
      expect(await claimed("b")).toEqual([])
      expect(await claimed("b")).toEqual([])
      await directory.deliver([event("wait")])
      expect(await claimed("b")).toEqual([["wait", true]])
      bed().now = 1_500_000
      expect(await claimed("b")).toEqual([["sleep", true]])
      await journal.release("b", ["sleep"])
      expect(await claimed("b")).toEqual([["sleep", false]])
    })

    it("a turn that gives the instance another state ends the crash", async () => {
      const { journal } = bed()
      await journal.renew("a", 10)
      await journal.commit([creation("i", { state: running("a") })])
      bed().now += 10
      expect(await bed().journal.claim(claimBy({ worker: "b", offers: [] }))).toEqual([])
      await journal.commit([turn("i", 3, { state: { status: "running", run: 2, runPosition: 3, dueAt: 5 } })])
      expect(await claimed("b")).toEqual([["i", false]])
    })

    it("an instance that ended under its owner is not claimed after a crash", async () => {
      const { journal } = bed()
      await journal.renew("a", 10)
      await journal.commit([creation("i", { state: { ...completed, owner: "a" } })])
      bed().now += 10
      expect(await claimed("b")).toEqual([])
    })

    it("the limit holds for crashed instances too, and the rest follow", async () => {
      const { journal } = bed()
      await journal.renew("a", 10)
      const ids = Array.from({ length: 5 }, (_, i) => `i${i}`)
      await journal.commit(ids.map((id) => creation(id, { state: running("a") })))
      bed().now += 10
      const first = await journal.claim(claimBy({ worker: "b", limit: 3 }))
      const second = await journal.claim(claimBy({ worker: "b", limit: 3 }))
      expect([first.length, second.length]).toEqual([3, 2])
      expect([...first, ...second].every(({ crashed }) => crashed)).toBe(true)
    })
  })
}
