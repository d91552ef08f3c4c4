import { describe, expect, it } from "vitest"
import type { ChangeRow } from "../../ports/change-stream.ts"
import type { Directory } from "../../ports/directory.ts"
import type { Turn } from "../../ports/journal-store.ts"
import { completed, creation, event, found, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

export function changeCases(bed: CurrentBed): void {
  /** All rows after a place, page by page. */
  const readOn = async (after: string | undefined, limit = 3, instance?: string, directory: Directory = bed().directory) => {
    const rows: ChangeRow[] = []
    for (let cursor = after; ;) {
      const page = await directory.changes(cursor, limit, instance)
      expect(page.rows.length).toBeLessThanOrEqual(limit)
      rows.push(...page.rows)
      cursor = page.cursor
      if (page.rows.length === 0) return { rows, cursor }
    }
  }

  const places = (rows: readonly ChangeRow[]) => rows.map(({ instance, position }) => `${instance} ${position}`)

  const write = (...turns: readonly Turn[]) => bed().journal.commit(turns)

  describe("changes", () => {
    it("are the rows of all journals as they were written, in the order of their commits", async () => {
      const first = creation("a", { workflow: "order", version: "7" })
      const second = turn("a", 3, { entries: `[{"type":"paused"}]`, at: 1_000_900 })
      await write(first)
      await write(creation("b", { workflow: "refund" }), second)
      const { rows } = await readOn(undefined)
      expect(places(rows)).toEqual(["a 1", "b 1", "a 3"])
      expect(rows[2]).toEqual({
        instance: "a",
        incarnation: "a~1",
        workflow: "order",
        version: "7",
        turn: second.turn,
        position: 3,
        count: 1,
        run: 1,
        at: 1_000_900,
        entries: `[{"type":"paused"}]`,
        cursor: expect.stringMatching(/^[^~\s]+$/) as string,
      })
      expect(rows[1]).toMatchObject({ workflow: "refund", version: "1" })
      expect(rows[1]).not.toHaveProperty("queue")
      const far = creation("far")
      await write({ ...far, create: { ...far.create, queue: "far" } })
      expect((await readOn(rows[2]?.cursor)).rows).toEqual([expect.objectContaining({ instance: "far", queue: "far" })])
    })

    it("of an empty store are none, and whoever read so far sees what comes", async () => {
      const { directory } = bed()
      const nothing = await directory.changes(undefined, 10)
      expect(nothing.rows).toEqual([])
      expect(await directory.latestChange()).toBe(nothing.cursor)
      await write(creation("a"))
      expect(places((await directory.changes(nothing.cursor, 10)).rows)).toEqual(["a 1"])
    })

    it("go on from the cursor of every row and of every page, without a gap and without a repeat", async () => {
      await write(...["a", "b", "c", "d"].map((id) => creation(id)))
      await write(turn("c", 3), turn("a", 3))
      await write(turn("c", 4, { count: 5 }), turn("c", 9))
      const { rows, cursor } = await readOn(undefined, 2)
      const all = places(rows)
      expect(all).toEqual(["a 1", "b 1", "c 1", "d 1", "c 3", "a 3", "c 4", "c 9"])
      for (const limit of [1, 2, 3, 8, 100]) {
        for (const [at, row] of rows.entries()) expect(places((await readOn(row.cursor, limit)).rows)).toEqual(all.slice(at + 1))
      }
      expect(await bed().directory.latestChange()).toBe(cursor)
      expect((await readOn(cursor)).rows).toEqual([])
    })

    it("from the latest on are only what comes after it", async () => {
      const { directory } = bed()
      await write(creation("a"), creation("b"))
      const latest = await directory.latestChange()
      expect((await directory.changes(latest, 10)).rows).toEqual([])
      await write(turn("b", 3))
      expect(places((await directory.changes(latest, 10)).rows)).toEqual(["b 3"])
    })

    it("are only those of committed turns; lost ones and messages leave none", async () => {
      const { directory } = bed()
      const first = creation("a")
      await write(first)
      expect(await write(turn("a", 9), creation("a"), turn("nobody", 1))).toEqual(["lost", "lost", "lost"])
      await directory.deliver([event("a")])
      const again = turn("a", 3, { follows: first.turn })
      await write(again)
      await write(again)
      await directory.deliverOrCreate(event("b"), creation("b"))
      expect(places((await readOn(undefined)).rows)).toEqual(["a 1", "a 3", "b 1"])
    })

    it("of one instance are its own, from every cursor of the whole stream", async () => {
      const { directory } = bed()
      await write(creation("a"), creation("b"))
      for (let position = 3; position < 10; position++) await write(turn("a", position), turn("b", position))
      const { rows } = await readOn(undefined, 100)
      for (const limit of [1, 3, 100]) {
        for (const [at, row] of [undefined, ...rows].entries()) {
          const rest = places(rows.slice(at)).filter((place) => place.startsWith("b "))
          expect(places((await readOn(row?.cursor, limit, "b")).rows)).toEqual(rest)
        }
      }
      const { cursor } = await readOn(undefined, 3, "b")
      expect(cursor).toBe(await directory.latestChange())
      await write(turn("a", 10), turn("b", 10))
      expect(places((await directory.changes(cursor, 10, "b")).rows)).toEqual(["b 10"])
      expect((await directory.changes(undefined, 10, "nobody")).rows).toEqual([])
    })

    it("of a removed instance are gone, and nobody who read past them misses what comes next", async () => {
      const { directory } = bed()
      await write(creation("old", { state: completed }), creation("a"))
      await write(turn("a", 3), creation("young", { state: completed }), turn("young", 3))
      const before = await readOn(undefined)
      const atYoung = found(before.rows.at(-1)).cursor
      const atOld = found(before.rows[0]).cursor
      expect(await directory.remove(["young"])).toEqual(["young"])
      expect((await readOn(atYoung)).rows).toEqual([])
      const latest = await directory.latestChange()
      await write(turn("a", 4))
      await directory.remove(["old"])
      await write(creation("young", { incarnation: "young~2" }))
      for (const cursor of [atYoung, before.cursor, latest]) expect(places((await readOn(cursor)).rows)).toEqual(["a 4", "young 1"])
      expect(places((await readOn(atOld)).rows)).toEqual(["a 1", "a 3", "a 4", "young 1"])
      expect((await readOn(undefined, 3, "young")).rows).toEqual([expect.objectContaining({ incarnation: "young~2" })])
      expect((await readOn(atYoung, 3, "young")).rows).toHaveLength(1)
    })

    it("a number is never given again, also when all is removed, again and again", async () => {
      const { directory } = bed()
      const cursors: string[] = []
      for (let round = 0; round < 5; round++) {
        await write(creation("a", { incarnation: `a~${round}`, state: completed }))
        cursors.push((await readOn(undefined)).cursor)
        await directory.remove(["a"])
        expect((await readOn(undefined)).rows).toEqual([])
        for (const cursor of cursors) expect((await readOn(cursor)).rows).toEqual([])
      }
      await write(creation("b"))
      for (const cursor of cursors) expect(places((await readOn(cursor)).rows)).toEqual(["b 1"])
    })

    it("hold large values whole, and a page of them is a short one", async () => {
      const long = "ä".repeat(700_000)
      await write(creation("a"))
      for (let position = 3; position < 9; position++) await write(turn("a", position, { blobs: [long, `${position}`] }))
      await write(turn("a", 9, { entries: JSON.stringify([long]) }))
      const { rows } = await readOn(undefined, 100)
      expect(rows.map(({ position }) => position)).toEqual([1, 3, 4, 5, 6, 7, 8, 9])
      expect(rows.slice(1, -1).every(({ blobs, position }) => blobs?.[0] === long && blobs[1] === `${position}`)).toBe(true)
      expect(rows.at(-1)?.entries).toBe(JSON.stringify([long]))
    })

    it("are seen whole by a reader while several write at the same time", async () => {
      const { directory } = bed()
      const stores = [bed().store, await bed().open(), await bed().open()]
      const turns = 30
      const writers = stores.map(async ({ journal }, writer) => {
        for (const id of [`${writer}-a`, `${writer}-b`]) await journal.commit([creation(id)])
        for (let position = 3; position < turns; position++) {
          await journal.commit([turn(`${writer}-a`, position), turn(`${writer}-b`, position)])
          await new Promise<void>((resolve) => setTimeout(resolve))
        }
      })
      let isWritten = false
      const all = Promise.all(writers).then(() => (isWritten = true))
      const seen: ChangeRow[] = []
      let cursor: string | undefined
      for (let isLast = false; ;) {
        const page = await directory.changes(cursor, 4)
        seen.push(...page.rows)
        cursor = page.cursor
        if (page.rows.length === 0 && isLast) break
        isLast = isWritten
        if (page.rows.length === 0) await new Promise<void>((resolve) => setTimeout(resolve))
      }
      await all
      expect(places(seen)).toEqual(places((await readOn(undefined, 100)).rows))
      for (const writer of stores.keys()) {
        const positions = seen.filter(({ instance }) => instance === `${writer}-b`).map(({ position }) => position)
        expect(positions).toEqual([1, ...Array.from({ length: turns - 3 }, (_, index) => index + 3)])
      }
      expect(new Set(seen.map(({ cursor: place }) => place)).size).toBe(seen.length)
    })

    it("refuse a cursor that is not of theirs", async () => {
      const { directory } = bed()
      await write(creation("a"), creation("b"))
      const cursor = await directory.latestChange()
      for (const foreign of ["", "nonsense", "%%%", "0", "-1", "1~x", `${cursor}0`, `z${cursor}`, "zzzzzzzzzz.1", "1.zzzzzzz"])
        await expect(directory.changes(foreign, 1)).rejects.toMatchObject({ code: "BAD_OPTION" })
    })
  })
}
