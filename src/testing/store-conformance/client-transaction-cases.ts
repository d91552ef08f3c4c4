import { describe, expect, it } from "vitest"
import type { CallerTransactions, StoreWithin } from "../../ports/caller-transactions.ts"
import type { ClientTransaction } from "../../ports/transactions.ts"
import { claimBy, completed, creation, event, limited, slots, turn } from "./sample.ts"
import type { CurrentBed } from "./store-bed.ts"

/** Cases for stores with asynchronous transactions. The cases write through the store in place of a user's table, so that no case needs a table. */
export function clientTransactionCases(bed: CurrentBed): void {
  const begin = (): Promise<ClientTransaction> => {
    const { clientTransactions } = bed().store
    if (clientTransactions === undefined) throw new Error("the store has no such transactions")
    return clientTransactions.begin()
  }
  const callers = (): CallerTransactions => {
    const { callerTransactions } = bed().store
    if (callerTransactions === undefined) throw new Error("callers cannot have transactions here")
    return callerTransactions
  }
  const within = <T>({ client }: ClientTransaction, work: (store: StoreWithin) => Promise<T>): Promise<T> => callers().within(client, work)
  const send = (transaction: ClientTransaction, id: string) => within(transaction, ({ directory }) => directory.deliver([event(id)]))
  const unread = async (id: string) => (await bed().journal.readInbox([id])).length
  const end = async (id: string) => (await bed().journal.readJournal(id, 1)).at(-1)?.position

  describe("a transaction of a step", () => {
    it("commits the user's writes together with the turn, and neither is visible before", async () => {
      const { journal } = bed()
      await journal.commit([creation("i"), creation("a")])
      const transaction = await begin()
      expect(await send(transaction, "a")).toEqual(["delivered"])
      expect([await unread("a"), await end("i")]).toEqual([0, 1])
      expect(await transaction.commit(turn("i", 3))).toBe("committed")
      expect([await unread("a"), await end("i")]).toEqual([1, 3])
    })

    it("is rolled back with a turn that is lost", async () => {
      const { journal } = bed()
      await journal.commit([creation("i"), creation("a")])
      const transaction = await begin()
      await send(transaction, "a")
      await journal.commit([turn("i", 3)])
      expect(await transaction.commit(turn("i", 3))).toBe("lost")
      expect(await unread("a")).toBe(0)
    })

    it("that is rolled back leaves nothing, and its client refuses further statements", async () => {
      const { journal } = bed()
      await journal.commit([creation("a")])
      const transaction = await begin()
      await send(transaction, "a")
      await transaction.rollBack()
      expect(await unread("a")).toBe(0)
      await expect(transaction.client.query("SELECT 1")).rejects.toMatchObject({ code: "SQL_REFUSED" })
      await expect(send(transaction, "a")).rejects.toMatchObject({ code: "SQL_REFUSED" })
    })

    it("in which a statement failed can only be rolled back", async () => {
      const { journal } = bed()
      await journal.commit([creation("i"), creation("a")])
      const transaction = await begin()
      await send(transaction, "a")
      await transaction.client.query("SELECT nonsense").catch(() => undefined)
      expect(await transaction.commit(turn("i", 3))).toMatchObject({ isOutage: false, undoneBy: { code: "SQL_FAILED" } })
      expect([await unread("a"), await end("i")]).toEqual([0, 1])
    })

    it("whose turn ends an instance with limits admits the next instance", async () => {
      const { journal } = bed()
      await journal.commit([limited("first", [slots(1)]), limited("second", [slots(1)])])
      expect((await journal.claim(claimBy())).map(({ instance }) => instance.id)).toEqual(["first"])
      const transaction = await begin()
      expect(await transaction.commit(turn("first", 3, { state: completed, by: "a" }))).toBe("committed")
      expect((await journal.claim(claimBy())).map(({ instance }) => instance.id)).toEqual(["second"])
    })

    it("wait for a free connection when all connections are in use", async () => {
      const open = await begin()
      const others = Array.from({ length: 30 }, begin)
      await open.rollBack()
      for (const other of others) await (await other).rollBack()
      expect(await bed().journal.commit([creation("i")])).toEqual(["committed"])
    })
  })

  describe("a transaction of a caller", () => {
    it("sees the instance that it created, and no other reader sees the instance before the commit", async () => {
      const other = creation("other")
      await bed().journal.commit([other])
      const transaction = await begin()
      expect(await within(transaction, ({ journal }) => journal.commit([creation("i"), creation("other")]))).toEqual(["committed", "lost"])
      const seen = await within(transaction, async ({ directory, journal }) => [(await directory.get("i"))?.id, (await journal.readJournal("i", 1)).length])
      expect(seen).toEqual(["i", 1])
      expect(await bed().directory.get("i")).toBeUndefined()
      expect(await send(transaction, "i")).toEqual(["delivered"])
      expect(await transaction.commit(turn("other", 3, { follows: other.turn }))).toBe("committed")
      expect((await bed().directory.get("i"))?.status).toBe("waiting")
      expect(await unread("i")).toBe(1)
    })

    it("undoes the writes of a call that throws, and keeps the writes of other calls", async () => {
      await bed().journal.commit([creation("i"), creation("a")])
      const transaction = await begin()
      await send(transaction, "a")
      const failing = within(transaction, async ({ directory, journal }) => {
        await directory.deliver([event("a", { topic: "lost" })])
        await journal.commit([creation("never")])
        throw new Error("no")
      })
      await expect(failing).rejects.toThrow("no")
      await transaction.commit(turn("i", 3))
      expect((await bed().journal.readInbox(["a"])).map(({ topic }) => topic)).toEqual(["paid"])
      expect(await bed().directory.get("never")).toBeUndefined()
    })

    it("sees the holder of a unique key, and a creation with that key is lost", async () => {
      const unique = [{ kind: "singleton", key: "order" }] as const
      await bed().journal.commit([creation("i"), creation("one", { flow: { unique } })])
      const transaction = await begin()
      expect(await within(transaction, ({ journal }) => journal.commit([creation("two", { flow: { unique } })]))).toEqual(["lost"])
      expect(await within(transaction, ({ flow }) => flow.holder(unique[0]))).toBe("one")
      expect(await within(transaction, ({ directory }) => directory.deliverOrCreate(event("new"), creation("new")))).toBe("created")
      expect(await transaction.commit(turn("i", 3))).toBe("committed")
      expect(await unread("new")).toBe(1)
      expect(await bed().directory.get("two")).toBeUndefined()
    })
  })
}
