import { describe, expect, it } from "vitest"
import { completed, creation, idle, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

export function annotationCases(bed: CurrentBed): void {
  const tagged = async (tag: string) => (await bed().directory.list({ tag }, { limit: 100, order: "oldest" })).items.map(({ id }) => id)

  describe("tags and memo", () => {
    it("a turn replaces all tags, and lists find the instance by them from then on", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i", { tags: ["a", "b"] }), creation("j", { tags: ["b"] })])
      await journal.commit([turn("i", 3, { tags: ["b", "c \ud800 d"], at: 1_000_700 })])
      expect(await directory.get("i")).toMatchObject({ tags: ["b", "c \ud800 d"], updatedAt: 1_000_700 })
      expect(await tagged("a")).toEqual([])
      expect(await tagged("b")).toEqual(["i", "j"])
      expect(await tagged("c \ud800 d")).toEqual(["i"])
      await journal.commit([turn("i", 4, { tags: [] })])
      expect((await directory.get("i"))?.tags).toEqual([])
      expect(await tagged("b")).toEqual(["j"])
    })

    it("a turn sets the memo, which the row has from then on; turns that say nothing leave both as they are", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i", { tags: ["a"] })])
      expect(await directory.get("i")).not.toHaveProperty("memo")
      await journal.commit([turn("i", 3, { memo: `{"progress":"\ud800"}` })])
      await journal.commit([turn("i", 4, { state: { ...idle, status: "paused" } }), turn("i", 5)])
      expect(await directory.get("i")).toMatchObject({ memo: `{"progress":"\ud800"}`, tags: ["a"], status: "paused" })
      await journal.commit([turn("i", 6, { memo: "{}", tags: ["b"], state: completed })])
      expect(await directory.get("i")).toMatchObject({ memo: "{}", tags: ["b"], status: "completed" })
      expect((await directory.list({ tag: "b" }, { limit: 1, order: "newest" })).items).toMatchObject([{ memo: "{}" }])
    })

    it("an instance may come into being with a memo, and with other tags than it was started with", async () => {
      const { journal, directory } = bed()
      await journal.commit([{ ...creation("i", { queue: "gpu", tags: ["a"] }), memo: "[1]", tags: ["b"] }])
      expect(await directory.get("i")).toMatchObject({ memo: "[1]", queue: "gpu", tags: ["b"] })
      expect(await tagged("a")).toEqual([])
      expect(await tagged("b")).toEqual(["i"])
    })

    it("a lost turn changes neither", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i", { tags: ["a"] })])
      expect(await journal.commit([turn("i", 7, { tags: ["b"], memo: "1" })])).toEqual(["lost"])
      expect((await directory.get("i"))?.tags).toEqual(["a"])
      expect(await directory.get("i")).not.toHaveProperty("memo")
      expect(await tagged("b")).toEqual([])
    })

    it("of a removed instance no tag is left, also none that came later", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i", { tags: ["a"] })])
      await journal.commit([turn("i", 3, { tags: ["b"], state: completed })])
      await directory.remove(["i"])
      expect(await tagged("b")).toEqual([])
      await journal.commit([creation("i")])
      expect(await tagged("b")).toEqual([])
    })
  })
}
