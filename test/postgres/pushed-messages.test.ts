// Messages that a notification carries. Time stands still: a message that arrives was pushed, and not found by a sweep.

import { setTimeout as delay } from "node:timers/promises"
import { type Context, workflow } from "perdure"
import { afterAll, afterEach, expect, it, vi } from "vitest"
import type { Engine } from "../../src/engine/engine.ts"
import type { RowState, Message, Turn } from "../../src/ports/journal-store.ts"
import type { Store } from "../../src/ports/store.ts"
import { Database } from "../../src/stores/postgres/connection/database.ts"
import { PushedMessages } from "../../src/stores/postgres/notifications/pushed-messages.ts"
import { ListenConnectionCalls } from "../../src/stores/postgres/notifications/listen-connection-calls.ts"
import { creation, event, found, idle, turn } from "../../src/testing/store-conformance/sample.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"
import { ClusterBed } from "./cluster-bed.ts"

const database = new TestDatabase()
const bed = new ClusterBed(database)
afterEach(async () => {
  vi.restoreAllMocks()
  await bed.close()
})
afterAll(() => database.drop())

const collector = workflow("collector", async (ctx: Context, count: number) => {
  const values: unknown[] = []
  while (values.length < count) values.push(await ctx.waitForEvent("go"))
  return values
})

/** The names of statements from now on: single calls of functions, and all other statements. */
function statements() {
  const calls = vi.spyOn(ListenConnectionCalls.prototype, "call").mockClear()
  const sent = vi.spyOn(Database.prototype, "all").mockClear()
  return { alone: () => calls.mock.calls.map(([name]) => name), all: () => sent.mock.calls.map(([name]) => name) }
}

/** Waits long enough that the next delivery has a notification in its transaction. */
const quiet = () => delay(40)

it("an event from another process is not asked for by whoever runs the instance, and is written with its end", async () => {
  const { engines, settle } = await bed.open([collector], ["worker", "client"], { sweep: "52w" })
  const [worker, client] = engines as [Engine, Engine]
  const handle = await worker.start(collector, { id: "i", input: 1 })
  await settle()
  const sent = statements()
  await client.get("i").sendEvent("go", { text: `it's "here"\u0000\ud800` })
  expect(await handle.result()).toEqual([{ text: `it's "here"\u0000\ud800` }])
  expect(sent.alone()).toEqual(["push.deliver", "consume.write"])
  expect(sent.all()).not.toContain("inbox")
})

it("events in a row, long ones among them, come all and in their order, whichever way they take", async () => {
  const { engines, settle } = await bed.open([collector], ["worker", "client"], { sweep: "52w" })
  const [worker, client] = engines as [Engine, Engine]
  const handle = await worker.start(collector, { id: "i", input: 60 })
  await settle()
  const values = Array.from({ length: 60 }, (_, n) => (n % 7 === 3 ? `${n} ${"x".repeat(9_000)}` : `${n}`))
  for (const [n, value] of values.entries()) {
    await client.get("i").sendEvent("go", value)
    if (n % 9 === 0) await quiet()
  }
  expect(await handle.result()).toEqual(values)
})

it("one that finds nobody who runs the instance wakes it", async () => {
  const { engines, settle, skip } = await bed.open([collector], ["worker", "client"], { sweep: "1h" })
  const [worker, client] = engines as [Engine, Engine]
  const handle = await worker.start(collector, { id: "i", input: 1 })
  await settle()
  await skip(7_200_000)
  expect(worker.components.worker.residents.size).toBe(0)
  await client.get("i").sendEvent("go", 1)
  expect(await handle.result()).toEqual([1])
})

/** Two processes, a waiting instance, and a message for it that was pushed to the second process, which has not read the inbox. */
async function pushedMessage() {
  const { engines, schema } = await bed.open([collector], ["client", "client"], { sweep: "52w" })
  const [one, other] = engines.map(({ components }) => components.store) as [Store, Store]
  await one.journal.commit([creation("i"), creation("j")])
  await quiet()
  const heard: Message[] = []
  const told = new Promise<void>((resolve) =>
    other.onPushedMessage?.((message) => {
      heard.push(message)
      resolve()
      return true
    }),
  )
  expect(await one.directory.deliver([event("i")])).toEqual(["delivered"])
  await told
  return { one, other, schema, heard }
}

const taking = (seq: number, position: number, state?: RowState): Turn => turn("i", position, { consumed: [seq], ...(state && { state }) })

it.each([
  ["alone", (taker: Turn) => [taker]],
  ["with another turn", (taker: Turn) => [turn("j", 3), taker]],
  ["with one that follows it", (taker: Turn) => [taker, turn("i", taker.position + 1)]],
])("a message that was taken in meanwhile is not taken in twice: %s", async (_, batchOf) => {
  for (const state of [idle, undefined]) {
    const { one, other, heard } = await pushedMessage()
    const { seq } = found((await one.journal.readInbox(["i"]))[0])
    expect(await one.journal.commit([taking(seq, 3, idle)])).toEqual(["committed"])
    expect(await other.journal.readInbox(["i"])).toEqual([])
    expect(heard).toMatchObject([{ seq, instance: "i", kind: "event", topic: "paid", payload: `{"amount":1}` }])
    const batch = batchOf(taking(seq, 4, state))
    expect(await other.journal.commit(batch)).toEqual(batch.map(({ instance }) => (instance === "j" ? "committed" : "lost")))
    expect(await one.journal.readJournal("i", 1)).toHaveLength(2)
    expect(heard).toHaveLength(1)
    await bed.close()
    vi.restoreAllMocks()
  }
})

it.each([
  ["alone", (taker: Turn) => [taker]],
  ["with another turn", (taker: Turn) => [turn("j", 3), taker]],
])("nor when its turn is sent again because nobody could tell: %s", async (_, batchOf) => {
  const { one, other, heard } = await pushedMessage()
  const { seq } = found(heard[0])
  expect(await one.journal.commit([taking(seq, 3, idle)])).toEqual(["committed"])
  const batch = batchOf(taking(seq, 4, idle))
  vi.spyOn(PushedMessages.prototype, "confirmed").mockRejectedValueOnce(new Error("the disk is full"))
  await expect(other.journal.commit(batch)).rejects.toThrow("the disk is full")
  expect(await other.journal.commit(batch)).toEqual(batch.map(({ instance }) => (instance === "j" ? "committed" : "lost")))
  expect(await one.journal.readJournal("i", 1)).toHaveLength(2)
})

it("nor by the transaction of a step", async () => {
  const { one, other, heard } = await pushedMessage()
  const { seq } = found(heard[0])
  expect(await one.journal.commit([taking(seq, 3)])).toEqual(["committed"])
  const late = found(await other.clientTransactions?.begin())
  expect(await late.commit(taking(seq, 4))).toBe("lost")
  expect(await one.journal.readJournal("i", 1)).toHaveLength(2)
})

it("one that is still there is taken in, and so it is when the same turn is sent again", async () => {
  for (const state of [idle, undefined]) {
    const { one, other, heard } = await pushedMessage()
    const taker = taking(found(heard[0]).seq, 3, state)
    expect(await other.journal.commit([taker])).toEqual(["committed"])
    expect(await one.journal.readInbox(["i"])).toEqual([])
    expect(await other.journal.commit([taker])).toEqual(["committed"])
    expect(await one.journal.readJournal("i", 1)).toHaveLength(2)
    await bed.close()
    vi.restoreAllMocks()
  }
})

it("one whose turn was written, and the answer lost, counts as taken in", async () => {
  for (const state of [idle, undefined]) {
    const { one, other, heard } = await pushedMessage()
    const { seq } = found(heard[0])
    let losses = 0
    const lose = (name: string, answer: unknown) => {
      if (name.endsWith("write") && answer !== "false" && losses++ === 0) throw Object.assign(new Error("the answer is lost"), { code: "ECONNRESET" })
    }
    const call = Reflect.get(ListenConnectionCalls.prototype, "call")
    vi.spyOn(ListenConnectionCalls.prototype, "call").mockImplementation(async function (this: ListenConnectionCalls, name, ...rest) {
      const answer = await Reflect.apply(call, this, [name, ...rest])
      lose(name, answer)
      return answer
    })
    vi.spyOn(Database.prototype, "get").mockImplementation(async function (this: Database, name, ...rest) {
      const [row] = await this.all(name, ...rest)
      if (row?.["answer"] === undefined) lose(name, row)
      return row
    })
    expect(await other.journal.commit([taking(seq, 3, state)])).toEqual(["committed"])
    expect(losses).toBe(2)
    expect(await one.journal.readJournal("i", 1)).toHaveLength(2)
    await bed.close()
    vi.restoreAllMocks()
  }
})

it("whoever hears of another message reads both", async () => {
  const { one, other, heard } = await pushedMessage()
  await quiet()
  const told = new Promise<void>((resolve) => other.onHint?.(() => resolve()))
  await one.directory.deliver([event("i", { payload: "2" })])
  await told
  expect(heard).toHaveLength(1)
  expect((await other.journal.readInbox(["i"])).map(({ payload }) => payload)).toEqual([`{"amount":1}`, "2"])
})

it("who may not read the tables hears that there is a message, and not what it says", async () => {
  const { one, schema } = await pushedMessage()
  const told: string[] = []
  const stranger = await database.pool.connect()
  try {
    stranger.on("notification", ({ payload = "" }) => told.push(payload))
    await stranger.query(`LISTEN "perdure ${schema}"`)
    await quiet()
    await one.directory.deliver([event("j", { payload: `"secret"` })])
    // Notifications about earlier turns may come first.
    while (!told.join().includes(`"j"`)) await delay(5)
    expect(told.join()).toContain(`"j"`)
    expect(told.join()).not.toContain("secret")
  } finally {
    await stranger.query("UNLISTEN *")
    stranger.release(true)
  }
})
