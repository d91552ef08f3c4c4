// How much is done for a burst, counted: what grows with its square shows at any speed of the machine.

import { expect, it } from "vitest"
import { type Context, workflow } from "../../index.ts"
import { PerdureError } from "../../core/errors.ts"
import type { Message, NewMessage, Turn } from "../../ports/journal-store.ts"
import type { Store, StoreProvider } from "../../ports/store.ts"
import { memory } from "../../stores/memory/memory-provider.ts"
import { createTestEngine } from "../../testing/test-engine.ts"
import { overriding } from "../../testing/overriding.ts"

const count = 1_200
const numbers = Array.from({ length: count }, (_, index) => index)

const taker = workflow("taker", async (ctx: Context) => {
  const taken: unknown[] = []
  while (taken.length < count) taken.push(await ctx.waitForEvent("number"))
  return taken
})

/** A store that counts what is asked of it. */
function countedStore() {
  const counts = { reads: 0, messagesRead: 0, deliveries: [] as number[], turns: [] as number[] }
  const inner = memory()
  const counted = ({ journal, directory }: Store) => ({
    journal: overriding(journal, {
      readInbox: async (...args: Parameters<typeof journal.readInbox>): Promise<readonly Message[]> => {
        const messages = await journal.readInbox(...args)
        counts.reads++
        counts.messagesRead += messages.length
        return messages
      },
      commit: (turns: readonly Turn[]) => {
        counts.turns.push(...turns.map((turn) => turn.count))
        return journal.commit(turns)
      },
    }),
    directory: overriding(directory, {
      deliver: (messages: readonly NewMessage[]) => {
        counts.deliveries.push(messages.length)
        return directory.deliver(messages)
      },
    }),
  })
  const store: StoreProvider = {
    name: "counted",
    open: async (context) => {
      const opened = await inner.open(context)
      return overriding(opened, counted(opened))
    },
  }
  return { store, counts }
}

it("events sent at once are delivered some hundreds at a time, read once, and taken in by turns that are not long", async () => {
  const { store, counts } = countedStore()
  await using engine = await createTestEngine({ workflows: [taker], store })
  const handle = await engine.start(taker)
  await engine.settle()
  await Promise.all(numbers.map((number) => handle.sendEvent("number", number)))
  await engine.settle()
  expect(await handle.result()).toEqual(numbers)
  expect(counts.messagesRead).toBeLessThanOrEqual(count)
  expect(counts.reads).toBeLessThan(30)
  expect(Math.max(...counts.deliveries)).toBeLessThanOrEqual(256)
  expect(counts.deliveries.length).toBeLessThan(20)
  expect(Math.max(...counts.turns)).toBeLessThan(1_100)
  expect(counts.turns.length).toBeGreaterThanOrEqual(3)
})

it("events that are awaited one by one are read once, too", async () => {
  const { store, counts } = countedStore()
  await using engine = await createTestEngine({ workflows: [taker], store })
  const handle = await engine.start(taker)
  await engine.settle()
  for (const number of numbers) await handle.sendEvent("number", number)
  await engine.settle()
  expect(await handle.result()).toEqual(numbers)
  expect(counts.messagesRead).toBeLessThanOrEqual(count)
  // Each send may lead to one read; those that find nothing are short.
  expect(counts.reads).toBeLessThanOrEqual(count + 10)
})

it("what an unread inbox holds is read once when the instance is loaded, however long it is", async () => {
  const { store, counts } = countedStore()
  await using engine = await createTestEngine({ workflows: [taker], store })
  const handle = await engine.start(taker)
  await handle.pause()
  await engine.settle()
  await Promise.all(numbers.map((number) => handle.sendEvent("number", number)))
  await engine.crash()
  counts.messagesRead = 0
  await handle.resume()
  await engine.settle()
  expect(await handle.result()).toEqual(numbers)
  expect(counts.messagesRead).toBeLessThanOrEqual(count + 40)
})

it("a code that takes what is buffered writes turns that are not long", async () => {
  const late = workflow("late", async (ctx: Context) => {
    await ctx.waitForEvent("begin")
    for (const _ of numbers) await ctx.waitForEvent("number")
  })
  const { store, counts } = countedStore()
  await using engine = await createTestEngine({ workflows: [late], store })
  const handle = await engine.start(late)
  await engine.settle()
  await Promise.all(numbers.map((number) => handle.sendEvent("number", number)))
  await engine.settle()
  await handle.sendEvent("begin")
  await engine.settle()
  expect(await handle.status()).toBe("completed")
  expect(Math.max(...counts.turns)).toBeLessThan(1_100)
})

it("what waits for the answers of one instance looks at its inbox once for all", async () => {
  const adder = workflow("adder", async (ctx: Context) => {
    let answered = 0
    ctx.setUpdateHandler("add", () => ++answered)
    await ctx.waitForEvent("end")
  })
  const { store, counts } = countedStore()
  await using engine = await createTestEngine({ workflows: [adder], store })
  const handle = await engine.start(adder)
  await handle.pause()
  await engine.settle()
  const updates = numbers.slice(0, 300).map(() => handle.update("add"))
  await engine.settle()
  counts.reads = 0
  // Nothing will answer them, and each of those who wait is told so.
  await handle.terminate()
  const answers = await Promise.allSettled(updates)
  expect(answers.every((answer) => answer.status === "rejected" && PerdureError.is(answer.reason, "INSTANCE_ENDED"))).toBe(true)
  expect(counts.reads).toBeLessThan(5)
})
