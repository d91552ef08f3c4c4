import { describe, expect, it } from "vitest"
import type { LimitUse } from "../../ports/flow-control.ts"
import { claimBy, completed, creation, idle, limited, rate, slots, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

export function limitCases(bed: CurrentBed): void {
  const claimed = async () => (await bed().journal.claim(claimBy())).map(({ instance }) => instance.id)
  const start = (ids: string, limits: readonly LimitUse[]) => bed().journal.commit(ids.split("").map((id) => limited(id, limits)))
  const concurrency = (max: number) => ({ workflow: "order", limits: [{ name: "concurrency.1", max }] })

  it("a turn of an instance with limits is lost when its worker owns it no more; of one without, the position decides", async () => {
    const { journal } = bed()
    await start("a", [slots(1)])
    await journal.commit([creation("b", { state: { ...idle, dueAt: 1 } })])
    await claimed()
    const { worker } = claimBy()
    const sent = turn("a", 3, { by: worker })
    expect(await journal.commit([sent, turn("b", 3, { by: worker })])).toEqual(["committed", "committed"])
    await journal.release(worker, ["a", "b"])
    expect(await journal.commit([turn("a", 4, { by: worker }), turn("b", 4, { by: worker })])).toEqual(["lost", "committed"])
    // The same turn is sent again after an unknown outcome.
    expect(await journal.commit([sent])).toEqual(["committed"])
  })

  describe("the numbers of limits", () => {
    it("the declared numbers count, not the numbers with which an instance was started", async () => {
      const { flow } = bed()
      await flow.declare([concurrency(2)])
      await start("abcd", [slots(1)])
      expect(await claimed()).toEqual(["a", "b"])
      expect(await flow.limitsOf("order")).toEqual([{ name: "concurrency.1", max: 2 }])
      expect(await flow.limitsOf("other")).toEqual([])
    })

    it("a higher limit admits instances at once and announces them; a lower limit lets admitted instances finish", async () => {
      const { flow, journal } = bed()
      await flow.declare([concurrency(1)])
      await start("abcde", [slots(1)])
      await claimed()
      const admitted: string[] = []
      flow.onAdmitted((ids) => admitted.push(...ids))
      expect(await flow.override("order", [{ name: "concurrency.1", to: { max: 3 } }])).toBe("changed")
      expect(admitted).toEqual(["b", "c"])
      expect(await claimed()).toEqual(["b", "c"])
      await flow.override("order", [{ name: "concurrency.1", to: { max: 1 } }])
      for (const id of ["a", "b"]) {
        await journal.commit([turn(id, 3, { state: completed })])
        expect(await claimed()).toEqual([])
      }
      await journal.commit([turn("c", 3, { state: completed })])
      expect(await claimed()).toEqual(["d"])
    })

    it("an override outlives declarations and other stores until it is removed", async () => {
      const { flow } = bed()
      await flow.declare([concurrency(1)])
      await flow.override("order", [{ name: "concurrency.1", to: { max: 4 } }])
      await flow.declare([concurrency(2)])
      const other = await bed().open()
      expect(await other.flow.limitsOf("order")).toEqual([{ name: "concurrency.1", max: 4, declared: { max: 2 } }])
      await other.flow.override("order", [{ name: "concurrency.1", to: undefined }])
      expect(await flow.limitsOf("order")).toEqual([{ name: "concurrency.1", max: 2 }])
    })

    it("the numbers of an unknown limit cannot be set, and then no number is", async () => {
      const { flow } = bed()
      await flow.declare([concurrency(1)])
      const changes = [
        { name: "concurrency.1", to: { max: 3 } },
        { name: "rate", to: { max: 1, perMs: 5 } },
      ]
      expect(await flow.override("order", changes)).toBe("unknown")
      expect(await flow.limitsOf("order")).toEqual([{ name: "concurrency.1", max: 1 }])
    })

    it("a limit that is no longer declared admits all instances", async () => {
      const { flow } = bed()
      await flow.declare([concurrency(1)])
      await start("abc", [slots(1)])
      expect(await claimed()).toEqual(["a"])
      await flow.declare([{ workflow: "order", limits: [] }])
      expect(await claimed()).toEqual(["b", "c"])
    })

    it("a change reaches every key of the limit, and no other limit", async () => {
      const { flow, journal } = bed()
      await flow.declare([
        {
          workflow: "order",
          limits: [
            { name: "concurrency", max: 1 },
            { name: "concurrency.1", max: 1 },
          ],
        },
      ])
      const keys = ["x", "y", "é/z"]
      await journal.commit(keys.flatMap((key) => [limited(`${key}1`, [slots(1, key)]), limited(`${key}2`, [slots(1, key)])]))
      await journal.commit([limited("w1", [slots(1)]), limited("w2", [slots(1)])])
      expect((await claimed()).toSorted()).toEqual(["w1", "x1", "y1", "é/z1"])
      await flow.override("order", [{ name: "concurrency", to: { max: 2 } }])
      expect((await claimed()).toSorted()).toEqual(["x2", "y2", "é/z2"])
    })

    it("a limit of zero admits no instance; a raised rate does not wait for the old time", async () => {
      const { flow } = bed()
      const day = 86_400_000
      await flow.declare([{ workflow: "order", limits: [{ name: "rate", max: 1, perMs: day }] }])
      await start("abc", [rate(1, day)])
      expect(await claimed()).toEqual(["a"])
      await flow.override("order", [{ name: "rate", to: { max: 0, perMs: day } }])
      bed().now += day
      expect(await claimed()).toEqual([])
      await flow.override("order", [{ name: "rate", to: { max: 1, perMs: day } }])
      expect(await claimed()).toEqual(["b"])
      await flow.override("order", [{ name: "rate", to: { max: 1, perMs: 1_000 } }])
      bed().now += 1_000
      expect(await claimed()).toEqual(["c"])
    })
  })

  describe("what a parked instance waits for", () => {
    it("is described with the holders and the number of instances ahead", async () => {
      const { flow } = bed()
      await flow.declare([concurrency(2)])
      await start("abcde", [slots(9)])
      await claimed()
      const use = slots(9)
      expect(await flow.waitOf("e")).toEqual({ use, max: 2, holders: ["a", "b"], held: 2, ahead: 2 })
      expect(await flow.waitOf("c")).toMatchObject({ ahead: 0 })
      expect(await flow.waitOf("a")).toBeUndefined()
      expect(await flow.waitOf("nobody")).toBeUndefined()
    })

    it("of a rate: the start time is described for the next instance", async () => {
      const { flow } = bed()
      await start("abc", [rate(1, 1_000, "k")])
      await claimed()
      expect(await flow.waitOf("b")).toMatchObject({ max: 1, perMs: 1_000, ahead: 0, until: 1_001_000 })
      expect(await flow.waitOf("c")).toEqual({ use: rate(1, 1_000, "k"), max: 1, perMs: 1_000, holders: ["b"], held: 1, ahead: 1 })
    })
  })

  describe("limits given later", () => {
    it("are given to a queued instance that has none, once", async () => {
      const { flow, journal, directory } = bed()
      await start("ab", [])
      const traits = { limits: [slots(1)], priority: 3 }
      expect(await flow.assign("a", "a~1", traits)).toBe(true)
      expect(await flow.assign("b", "b~1", { limits: [slots(1)] })).toBe(true)
      expect(await flow.assign("a", "a~1", traits)).toBe(false)
      expect(await flow.assign("b", "b~2", traits)).toBe(false)
      expect((await directory.get("a"))?.flow).toEqual(traits)
      expect(await claimed()).toEqual(["a"])
      await journal.commit([turn("a", 3, { state: completed })])
      expect(await claimed()).toEqual(["b"])
    })
  })
}
