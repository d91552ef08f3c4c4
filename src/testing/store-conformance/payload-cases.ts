import { describe, expect, it } from "vitest"
import { creation, event, found, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

const mebibyte = 1024 * 1024

/** Text that encodings and databases are known to corrupt. */
const oddTexts: Record<string, string> = {
  "the empty text": "",
  "U+0000 in front, within and at the end": "\0a\0b\0",
  "lone surrogates": "a\ud800b\udc00c\udbff",
  "surrogates in the wrong order": "\udc00\ud800",
  "emoji and combined characters": "👩‍👩‍👧‍👦 é e\u0301 \u{10ffff}",
  "a byte order mark": "\ufeffx\ufeff",
  "line ends and control characters": "\r\n\u2028\u2029\u0001\u0001x\u007f",
  "quotes and wildcards": `'"\`%_\\;--`,
  "U+FFFD and non-characters": "\ufffd\ufffe\uffff",
  "something like a number": "0123e4",
}

export function payloadCases(bed: CurrentBed): void {
  describe("payloads", () => {
    for (const [name, text] of Object.entries(oddTexts)) {
      it(`${name} comes back as it went in, wherever text goes`, async () => {
        const { journal, directory } = bed()
        const tags = [text, `${text}.`]
        await journal.commit([
          creation("i", { workflow: `w${text}`, version: text, tags }),
          turn("i", 3, { entries: text, blobs: [text, `${text}!`, ""], turn: text }),
        ])
        await directory.deliver([event("i", { topic: text, payload: text, eventId: text })])
        const [, row] = await journal.readJournal("i", 1)
        expect(row).toMatchObject({ entries: text, blobs: [text, `${text}!`, ""], turn: text })
        expect(await journal.readInbox(["i"])).toMatchObject([{ topic: text, payload: text, eventId: text }])
        expect(await directory.deliver([event("i", { eventId: text })])).toEqual(["duplicate"])
        expect(await directory.get("i")).toMatchObject({ workflow: `w${text}`, version: text, tags })
        const { items } = await directory.list({ workflow: `w${text}`, version: text, tag: text }, { limit: 1, order: "newest" })
        expect(items).toHaveLength(1)
        expect(await directory.count({}, "workflow")).toEqual({ [`w${text}`]: 1 })
      })

      it(`${name} in an id is told apart`, async () => {
        const { journal, directory } = bed()
        const ids = [`i${text}`, `i${text}.`, `.i${text}`]
        expect(await journal.commit(ids.map((id) => creation(id)))).toEqual(["committed", "committed", "committed"])
        for (const id of ids) expect((await directory.get(id))?.id).toBe(id)
        expect(await journal.commit(ids.map((id) => turn(id, 3)))).toEqual(["committed", "committed", "committed"])
      })
    }

    it("lone surrogates that would become the same replacement character are different ids", async () => {
      const { journal } = bed()
      expect(await journal.commit([creation("\ud800"), creation("\ud801"), creation("\ufffd")])).toEqual(["committed", "committed", "committed"])
    })

    it("blobs of 8 MiB come back whole and in order, whatever the size of their characters", async () => {
      const { journal } = bed()
      const blobs = ["a".repeat(8 * mebibyte), "é👍".repeat(2 * mebibyte), "b".repeat(mebibyte), "c".repeat(mebibyte + 1), "d"]
      await journal.commit([creation("i"), turn("i", 3, { blobs }), turn("i", 4)])
      const [, row, next] = await journal.readJournal("i", 1)
      expect(found(row?.blobs).length).toBe(blobs.length)
      for (const [index, blob] of blobs.entries()) expect(found(row?.blobs)[index] === blob).toBe(true)
      expect(next).not.toHaveProperty("blobs")
    })

    it("entries and messages of several MiB come back whole", async () => {
      const { journal, directory } = bed()
      const entries = "e\0👍".repeat(mebibyte)
      const payload = "é".repeat(5 * mebibyte)
      await journal.commit([creation("i"), turn("i", 3, { entries })])
      await directory.deliver([event("i", { payload }), event("i", { payload: "small" })])
      const [, row] = await journal.readJournal("i", 1)
      expect(found(row).entries === entries).toBe(true)
      const [large, small] = await journal.readInbox(["i"])
      expect(found(large).payload === payload).toBe(true)
      expect(found(small).payload).toBe("small")
      await journal.commit([turn("i", 4, { consumed: [found(large).seq] })])
      expect(await journal.readInbox(["i"])).toEqual([small])
    })

    it("no blobs are none", async () => {
      const { journal } = bed()
      await journal.commit([creation("i"), turn("i", 3, { blobs: [] })])
      for (const row of await journal.readJournal("i", 1)) expect(row).not.toHaveProperty("blobs")
    })

    it("a large turn that is lost leaves nothing", async () => {
      const { journal } = bed()
      await journal.commit([creation("i"), turn("i", 3)])
      expect(await journal.commit([turn("i", 3, { blobs: ["x".repeat(mebibyte)] })])).toEqual(["lost"])
      const [row] = await journal.readJournal("i", 3)
      expect(row).not.toHaveProperty("blobs")
    })

    it("times before 1970 and far ahead are kept", async () => {
      const { journal, directory } = bed()
      const createdAt = -62_135_596_800_000
      const dueAt = 8_640_000_000_000_000
      await journal.commit([creation("i", { createdAt, state: { status: "sleeping", dueAt } })])
      expect(await directory.get("i")).toMatchObject({ createdAt, updatedAt: createdAt, dueAt })
    })
  })
}
