import { describe, expect, it } from "vitest"
import type { ScheduleChange, ScheduleRow } from "../../ports/schedule-store.ts"
import { claimBy, completed, creation, event, found, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

export function scheduleCases(bed: CurrentBed): void {
  const row = (id: string, more: Partial<ScheduleRow> = {}): ScheduleRow => ({
    id,
    incarnation: `${id}~1`,
    revision: 1,
    workflow: "order",
    createdAt: 1_000_000,
    updatedAt: 1_000_000,
    state: `{"of":"${id}"}`,
    ...more,
  })
  const write = (change: ScheduleChange) => bed().store.schedules.write(change)
  const create = (id: string, more: Partial<ScheduleRow> = {}) => write({ row: row(id, more), input: "1" })
  const due = async (...workflows: string[]) => (await bed().store.schedules.due(workflows, 100)).map(({ id }) => id)

  describe("schedules", () => {
    it("a schedule is written once under its id, and read back as it is", async () => {
      const { schedules } = bed().store
      const full = row("s", { dueAt: 5, awaits: "i", state: '{"odd":"\\ud800","nul":"\\u0000"}' })
      expect(await write({ row: full, input: "2" })).toBe("written")
      expect(await write({ row: { ...full, incarnation: "other" }, input: "3" })).toBe("lost")
      expect(await schedules.get("s")).toEqual(full)
      expect(await schedules.input("s")).toBe("2")
      expect([await schedules.get("t"), await schedules.input("t")]).toEqual([undefined, undefined])
    })

    it("a change counts only on the revision that it was made from, of the same incarnation", async () => {
      const { schedules } = bed().store
      await create("s", { dueAt: 5 })
      expect(await write({ row: row("s", { revision: 3 }) })).toBe("lost")
      expect(await write({ row: row("s", { revision: 2, incarnation: "other" }) })).toBe("lost")
      expect(await write({ row: row("s", { revision: 2, workflow: "other", awaits: "i", updatedAt: 7, state: "{}" }) })).toBe("written")
      expect(await write({ row: row("s", { revision: 2, state: "late" }) })).toBe("lost")
      expect(await schedules.get("s")).toEqual(row("s", { revision: 2, workflow: "other", awaits: "i", updatedAt: 7, state: "{}" }))
      expect(await write({ row: row("t", { revision: 2 }) })).toBe("lost")
      expect(await schedules.get("t")).toBeUndefined()
    })

    it("one of many concurrent writers wins", async () => {
      const second = await bed().open()
      await create("s")
      const outcomes = await Promise.all(
        [bed().store, second, bed().store, second].map(({ schedules }, index) =>
          schedules.write({ row: row("s", { revision: 2, state: `{"by":${index}}` }), creates: [creation(`i${index}`)] }),
        ),
      )
      expect(outcomes.filter((outcome) => outcome === "written")).toHaveLength(1)
      expect(await bed().directory.count({}, "status")).toEqual({ waiting: 1 })
    })

    it("a change is lost whose instance would have a key that another has", async () => {
      const unique = [{ kind: "singleton", key: "order" }] as const
      const singleton = (id: string) => creation(id, { flow: { unique } })
      await create("s")
      expect(await write({ row: row("s", { revision: 2 }), creates: [singleton("i")] })).toBe("written")
      expect(await write({ row: row("s", { revision: 3 }), creates: [singleton("j")] })).toBe("lost")
      expect([(await bed().store.schedules.get("s"))?.revision, await bed().directory.get("j")]).toEqual([2, undefined])
      expect(await bed().store.flow.holder(unique[0])).toBe("i")
    })

    it("the input stays unless another is given, and may be long", async () => {
      const { schedules } = bed().store
      const long = `"${"é\u{1F600}".repeat(600_000)}"`
      await create("s")
      await create("other")
      await write({ row: row("s", { revision: 2 }) })
      expect(await schedules.input("s")).toBe("1")
      await write({ row: row("s", { revision: 3 }), input: long })
      expect(await schedules.input("s")).toBe(long)
      await write({ row: row("s", { revision: 4 }), input: "" })
      expect(await schedules.input("s")).toBe("")
      expect(await schedules.input("other")).toBe("1")
    })

    it("instances are created together with the change, or neither is written", async () => {
      const { schedules } = bed().store
      const { journal, directory } = bed()
      await create("s")
      await journal.commit([creation("taken")])
      const free = creation("free", { tags: ["t"], state: { status: "queued", dueAt: 1 } })
      expect(await write({ row: row("s", { revision: 2 }), creates: [free, creation("taken", { incarnation: "x" })] })).toBe("lost")
      expect([(await schedules.get("s"))?.revision, await directory.get("free")]).toEqual([1, undefined])
      expect(await write({ row: row("s", { revision: 2 }), creates: [free, creation("more")] })).toBe("written")
      expect((await directory.list({ tag: "t" }, { limit: 5, order: "newest" })).items.map(({ id }) => id)).toEqual(["free"])
      expect(await journal.readJournal("free", 1)).toMatchObject([{ turn: free.turn, entries: free.entries }])
      expect((await journal.claim(claimBy())).map(({ instance }) => instance.id)).toEqual(["free"])
      expect(await journal.commit([turn("free", 3)])).toEqual(["committed"])
    })

    it("a change that says which instances are over, or not, is lost where that is not so", async () => {
      const { journal, directory } = bed()
      await create("s")
      await journal.commit([creation("live"), creation("over", { state: completed })])
      const next = (more: Partial<ScheduleChange>) => write({ row: row("s", { revision: 2 }), ...more })
      expect(await next({ ended: ["over", "live"] })).toBe("lost")
      expect(await next({ live: ["live", "over"] })).toBe("lost")
      expect(await next({ live: ["nobody"] })).toBe("lost")
      expect(await next({ ended: ["over", "nobody"], live: ["live"], messages: [event("live", { kind: "cancel" })] })).toBe("written")
      expect(await journal.readInbox(["live"])).toMatchObject([{ kind: "cancel" }])
      expect((await directory.get("live"))?.status).toBe("waiting")
    })

    it("messages are delivered with the change, and to an instance that is over there is nothing to deliver", async () => {
      const { journal } = bed()
      await create("s")
      await journal.commit([creation("live"), creation("over", { state: completed })])
      const messages = [event("live", { kind: "cancel" }), event("over", { kind: "cancel" }), event("nobody", { kind: "cancel" })]
      expect(await write({ row: row("s", { revision: 5 }), messages })).toBe("lost")
      expect(await journal.readInbox(["live"])).toEqual([])
      expect(await write({ row: row("s", { revision: 2 }), messages })).toBe("written")
      expect(await journal.readInbox(["live", "over", "nobody"])).toHaveLength(1)
      expect((await journal.claim(claimBy())).map(({ instance }) => instance.id)).toEqual(["live"])
    })

    it("due schedules are found by workflow, the longest due first", async () => {
      const { schedules } = bed().store
      await create("late", { dueAt: 999_000 })
      await create("now", { dueAt: 1_000_000 })
      await create("later", { dueAt: 1_000_001 })
      await create("never")
      await create("other", { dueAt: 5, workflow: "other" })
      expect(await due("order")).toEqual(["late", "now"])
      expect(await due("order", "other", "unknown")).toEqual(["other", "late", "now"])
      expect(await due()).toEqual([])
      expect((await schedules.due(["order", "other"], 2)).map(({ id }) => id)).toEqual(["other", "late"])
      expect(await schedules.nextDueAt(["order"])).toBe(999_000)
      expect(await schedules.nextDueAt(["order", "other"])).toBe(5)
      expect(await schedules.nextDueAt(["unknown"])).toBeUndefined()
      bed().now += 1
      expect(await due("order")).toEqual(["late", "now", "later"])
    })

    it("a schedule that awaits an instance is due when the instance is over or absent", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i"), creation("j")])
      await create("s", { awaits: "i", dueAt: 2_000_000 })
      await create("t", { awaits: "j" })
      await create("u", { awaits: "nobody" })
      await create("both", { awaits: "nobody", dueAt: 1 })
      expect((await due("order")).toSorted()).toEqual(["both", "u"])
      await journal.commit([turn("i", 3, { state: completed })])
      expect((await due("order")).toSorted()).toEqual(["both", "s", "u"])
      await journal.commit([turn("j", 3, { state: completed })])
      await directory.remove(["j"])
      expect((await due("order")).toSorted()).toEqual(["both", "s", "t", "u"])
      expect(await due("other")).toEqual([])
    })

    it("the list goes by id, page by page", async () => {
      const { schedules } = bed().store
      for (const id of ["b", "d", "a", "c"]) await create(id, { workflow: id === "d" ? "other" : "order" })
      const first = await schedules.list({}, { limit: 3 })
      expect(first).toMatchObject({ items: [{ id: "a" }, { id: "b" }, { id: "c" }], cursor: "c" })
      expect(await schedules.list({}, { limit: 3, after: found(first.cursor) })).toEqual({ items: [row("d", { workflow: "other" })] })
      expect((await schedules.list({ workflow: "order" }, { limit: 2, after: "a" })).items.map(({ id }) => id)).toEqual(["b", "c"])
      expect(await schedules.list({ workflow: "nothing" }, { limit: 2 })).toEqual({ items: [] })
    })

    it("a removed one is gone with its input; a later one of its id is another", async () => {
      const { schedules } = bed().store
      await create("s", { dueAt: 1 })
      expect([await schedules.remove("s"), await schedules.remove("s")]).toEqual([true, false])
      expect([await schedules.get("s"), await schedules.input("s"), await due("order")]).toEqual([undefined, undefined, []])
      expect(await write({ row: row("s", { incarnation: "s~2" }), input: "again" })).toBe("written")
      expect(await write({ row: row("s", { revision: 2 }) })).toBe("lost")
      expect(await schedules.input("s")).toBe("again")
    })

    it("they are there after closing and opening again, and refused after closing", async () => {
      await create("s", { dueAt: 5 })
      const { schedules } = bed().store
      await bed().close()
      const refused = { code: "ENGINE_CLOSED" }
      await expect(schedules.write({ row: row("t"), input: "" })).rejects.toMatchObject(refused)
      await expect(schedules.get("s")).rejects.toMatchObject(refused)
      await expect(schedules.input("s")).rejects.toMatchObject(refused)
      await expect(schedules.list({}, { limit: 1 })).rejects.toMatchObject(refused)
      await expect(schedules.due(["order"], 1)).rejects.toMatchObject(refused)
      await expect(schedules.nextDueAt(["order"])).rejects.toMatchObject(refused)
      await expect(schedules.remove("s")).rejects.toMatchObject(refused)
      const again = await bed().open()
      expect(await again.schedules.get("s")).toEqual(row("s", { dueAt: 5 }))
      expect(await again.schedules.input("s")).toBe("1")
    })
  })
}
