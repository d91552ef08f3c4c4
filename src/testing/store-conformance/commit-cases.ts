import { describe, expect, it } from "vitest"
import type { Turn } from "../../ports/journal-store.ts"
import { claimBy, completed, creation, event, found, limited, slots, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

/** The effects that a turn may have besides its entries. Stores write these kinds in different ways. `seq` is the number of a message in the instance's inbox. */
const effectsOfTurns: Record<string, (seq: number) => Partial<Turn>> = {
  "it only appends": () => ({}),
  "it changes the state": () => ({ state: completed }),
  "it consumes a message": (seq) => ({ state: completed, consumed: [seq] }),
  "it discards the inbox": () => ({ state: completed, discardInbox: true }),
  "it looks at the inbox": (seq) => ({ inboxSeen: seq }),
  "it has large payloads": () => ({ blobs: ["large"] }),
  "it sets tags and a memo": () => ({ tags: ["new"], memo: "new" }),
  "it sends": () => ({ sends: [event("j")] }),
}

export function commitCases(bed: CurrentBed): void {
  describe("commit and fence", () => {
    it("a committed turn is read back exactly, and the row of the instance stays as it was", async () => {
      const { journal, directory } = bed()
      const first = creation("i")
      const second = turn("i", 3, { count: 4, run: 2, at: 77 })
      expect(await journal.commit([first])).toEqual(["committed"])
      const before = await directory.get("i")
      expect(await journal.commit([second])).toEqual(["committed"])
      expect(await journal.readJournal("i", 1)).toEqual([
        { turn: first.turn, position: 1, count: 2, run: 1, at: first.at, entries: first.entries },
        { turn: second.turn, position: 3, count: 4, run: 2, at: 77, entries: second.entries },
      ])
      expect(await directory.get("i")).toEqual(before)
    })

    it("a position that another turn has is lost, and nothing of that turn is written", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i")])
      await directory.deliver([event("i")])
      const [message] = await journal.readInbox(["i"])
      await journal.commit([turn("i", 3, { entries: "winner" })])
      const late = turn("i", 3, { entries: "loser", state: completed, consumed: [found(message).seq], discardInbox: true, blobs: ["large"] })
      expect(await journal.commit([late])).toEqual(["lost"])
      expect((await journal.readJournal("i", 1)).map((row) => row.entries)).toEqual([expect.any(String), "winner"])
      expect((await directory.get("i"))?.status).toBe("waiting")
      expect(await journal.readInbox(["i"])).toHaveLength(1)
    })

    it("a turn that does not begin at the end of the journal is lost: before the end, behind the end, and within the turn of another store", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i")])
      const long = turn("i", 3, { count: 4 })
      await journal.commit([long])
      const wrong = [1, 2, 4, 6, 8, 100]
      for (const position of wrong) expect(await journal.commit([turn("i", position, { state: completed, follows: long.turn })])).toEqual(["lost"])
      expect((await directory.get("i"))?.status).toBe("waiting")
      const next = turn("i", 7, { follows: long.turn })
      const last = turn("i", 8, { follows: next.turn })
      expect(await journal.commit([next, last, turn("i", 10, { follows: last.turn })])).toEqual(["committed", "committed", "lost"])
      expect((await journal.readJournal("i", 1)).map((row) => row.position)).toEqual([1, 3, 7, 8])
      const other = await bed().open()
      const foreign = turn("i", 9, { count: 3, follows: last.turn })
      await other.journal.commit([foreign])
      for (const position of [9, 10, 11, 13]) expect(await journal.commit([turn("i", position, { follows: foreign.turn })])).toEqual(["lost"])
      expect(await journal.commit([turn("i", 12, { follows: foreign.turn })])).toEqual(["committed"])
    })

    // Two workers may have written different turns at the same positions, one of them on a server whose last commits a failover lost.
    for (const [kind, effects] of Object.entries(effectsOfTurns)) {
      it(`a turn that follows another turn than the last of the journal is lost, although its position is next: ${kind}`, async () => {
        const { journal, directory } = bed()
        await journal.commit([creation("i", { tags: ["old"] }), creation("j")])
        await directory.deliver([event("i")])
        const [message] = await journal.readInbox(["i"])
        const forgotten = turn("i", 3, { count: 2 })
        expect(await journal.commit([turn("i", 3, { entries: "one" }), turn("i", 4, { entries: "two" })])).toEqual(["committed", "committed"])
        const before = await directory.get("i")
        const foreign = turn("i", 5, { follows: forgotten.turn, ...effects(found(message).seq) })
        expect(await journal.commit([foreign])).toEqual(["lost"])
        expect(await journal.commit([turn("j", 3), foreign])).toEqual(["committed", "lost"])
        const unnamed = turn("i", 5, { ...effects(found(message).seq), follows: undefined })
        expect(await journal.commit([unnamed])).toEqual(["lost"])
        expect((await journal.readJournal("i", 3)).map((row) => row.entries)).toEqual(["one", "two"])
        expect(await directory.get("i")).toEqual(before)
        expect(await journal.readInbox(["i", "j"])).toEqual([message])
      })
    }

    it("a turn of an instance with limits that follows another turn than the last of the journal is lost", async () => {
      const { journal, directory } = bed()
      await journal.commit([limited("i", [slots(1)])])
      await journal.claim(claimBy())
      const forgotten = turn("i", 3, { by: "a" })
      const kept = turn("i", 3, { by: "a" })
      await journal.commit([kept])
      const before = await directory.get("i")
      expect(await journal.commit([turn("i", 4, { by: "a", follows: forgotten.turn })])).toEqual(["lost"])
      expect(await journal.commit([turn("i", 4, { by: "a", follows: forgotten.turn, state: completed })])).toEqual(["lost"])
      expect(await directory.get("i")).toEqual(before)
      expect(await journal.commit([turn("i", 4, { by: "a", follows: kept.turn, state: completed })])).toEqual(["committed"])
    })

    it("a lost turn does not hinder the other turns of its batch", async () => {
      const { journal } = bed()
      await journal.commit([creation("a"), creation("b"), creation("c")])
      await journal.commit([turn("b", 3)])
      expect(await journal.commit([turn("a", 3), turn("b", 3), turn("c", 3)])).toEqual(["committed", "lost", "committed"])
      expect(await journal.readJournal("a", 3)).toHaveLength(1)
      expect(await journal.readJournal("c", 3)).toHaveLength(1)
    })

    it("turns of one instance in one batch follow each other", async () => {
      const { journal } = bed()
      expect(await journal.commit([creation("i"), turn("i", 3), turn("i", 4, { state: completed })])).toEqual(["committed", "committed", "committed"])
      expect((await journal.readJournal("i", 1)).map((row) => row.position)).toEqual([1, 3, 4])
    })

    it("a turn that follows a lost turn in its batch is lost too, although its own position is free", async () => {
      const { journal } = bed()
      await journal.commit([creation("i")])
      const winner = turn("i", 3)
      await journal.commit([winner])
      expect(await journal.commit([turn("i", 3), turn("i", 4)])).toEqual(["lost", "lost"])
      expect((await journal.readJournal("i", 3)).map((row) => row.turn)).toEqual([winner.turn])
    })

    it("a creation that is lost because the id exists does not hinder the turns of the instance that has it", async () => {
      const { journal } = bed()
      await journal.commit([creation("i")])
      const batch = [
        creation("i", { incarnation: "i~2" }),
        turn("i", 3),
        creation("i", { incarnation: "i~3" }),
        turn("i", 4),
        turn("i", 5, { incarnation: "i~2" }),
      ]
      expect(await journal.commit(batch)).toEqual(["lost", "committed", "lost", "committed", "lost"])
      expect((await journal.readJournal("i", 1)).map((row) => row.position)).toEqual([1, 3, 4])
    })

    it("the same turn sent again is committed, and its effects happen once", async () => {
      const { journal, directory } = bed()
      const first = creation("i")
      const second = turn("i", 3, { state: { ...completed, status: "running", dueAt: 5 } })
      const third = turn("i", 4, { state: completed })
      await journal.commit([first, second, third])
      expect(await journal.commit([second])).toEqual(["committed"])
      expect(await journal.commit([first])).toEqual(["committed"])
      expect((await directory.get("i"))?.status).toBe("completed")
      expect(await journal.readJournal("i", 1)).toHaveLength(3)
    })

    it("a turn that required an unchanged inbox is still committed when it is sent again after a new message", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i")])
      const timeout = turn("i", 3, { inboxSeen: 0 })
      expect(await journal.commit([timeout])).toEqual(["committed"])
      await directory.deliver([event("i")])
      expect(await journal.commit([timeout])).toEqual(["committed"])
    })

    it("a turn replaces the whole state of the row, and says when", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i", { tags: ["x", "y"], state: { dueAt: 9, owner: "a", phase: "pausing" } })])
      await journal.commit([turn("i", 3, { at: 1_000_700, state: { status: "sleeping", run: 2, runPosition: 3, dueAt: 2_000_000 } })])
      expect(await directory.get("i")).toEqual({
        id: "i",
        incarnation: "i~1",
        workflow: "order",
        version: "1",
        createdAt: 1_000_000,
        tags: ["x", "y"],
        status: "sleeping",
        run: 2,
        runPosition: 3,
        dueAt: 2_000_000,
        updatedAt: 1_000_700,
      })
    })

    it("the row has the end position of the run until another run begins", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i", { state: completed })])
      expect((await directory.get("i"))?.endPosition).toBe(2)
      await journal.commit([turn("i", 3, { run: 2, state: { status: "running", run: 2, runPosition: 3 } })])
      expect((await directory.get("i"))?.endPosition).toBeUndefined()
    })

    it("a turn of an instance that does not exist is lost", async () => {
      const { journal } = bed()
      expect(await journal.commit([turn("nobody", 1)])).toEqual(["lost"])
      expect(await journal.readJournal("nobody", 1)).toEqual([])
    })

    it("a turn of an incarnation that was removed is lost, also when the id was given again", async () => {
      const { journal, directory } = bed()
      await journal.commit([creation("i", { state: completed })])
      await directory.remove(["i"])
      expect(await journal.commit([turn("i", 3)])).toEqual(["lost"])
      await journal.commit([creation("i", { incarnation: "i~2" })])
      expect(await journal.commit([turn("i", 3)])).toEqual(["lost"])
      expect(await journal.commit([turn("i", 3, { incarnation: "i~2" })])).toEqual(["committed"])
    })

    it("reading from a position begins with the turn that holds it", async () => {
      const { journal } = bed()
      await journal.commit([creation("i"), turn("i", 3, { count: 5 }), turn("i", 8), turn("i", 9, { count: 2 })])
      const from = async (position: number) => (await journal.readJournal("i", position)).map((row) => row.position)
      expect(await from(0)).toEqual([1, 3, 8, 9])
      expect(await from(2)).toEqual([1, 3, 8, 9])
      expect(await from(3)).toEqual([3, 8, 9])
      expect(await from(7)).toEqual([3, 8, 9])
      expect(await from(8)).toEqual([8, 9])
      expect(await from(10)).toEqual([9])
      expect(await from(11)).toEqual([])
    })

    it("an empty batch writes nothing", async () => {
      expect(await bed().journal.commit([])).toEqual([])
    })

    it("a batch of a thousand interleaved instances is one commit", async () => {
      const { journal } = bed()
      const ids = Array.from({ length: 1000 }, (_, i) => `i${i}`)
      expect(new Set(await journal.commit(ids.map((id) => creation(id))))).toEqual(new Set(["committed"]))
      expect(new Set(await journal.commit(ids.map((id) => turn(id, 3))))).toEqual(new Set(["committed"]))
      expect(await journal.readJournal("i999", 1)).toHaveLength(2)
    })
  })
}
