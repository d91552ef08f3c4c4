// These tests count the work for a burst: work that grows with the square of its size shows on a machine of any speed.

import { expect, it } from "vitest"
import { type Context, workflow } from "../../index.ts"
import { PerdureError } from "../../core/errors.ts"
import type { Message, NewMessage, Turn } from "../../ports/journal-store.ts"
import type { Store, StoreProvider } from "../../ports/store.ts"
import { memory } from "../../stores/memory/memory-provider.ts"
import { createTestEngine } from "../../testing/test-engine.ts"
import { overriding } from "../method-overrides.ts"

const count = 1_200
const numbers = Array.from({ length: count }, (_, index) => index)

const taker = workflow("taker", async (ctx: Context) => {
  const taken: unknown[] = []
  while (taken.length < count) taken.push(await ctx.waitForEvent("number"))
  return taken
})

/** A store that counts its calls. */
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

it("events sent at once are delivered a few hundred at a time, read once, and recorded in turns of bounded length", async () => {
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

it("events that are awaited one by one are read once as well", async () => {
  const { store, counts } = countedStore()
  await using engine = await createTestEngine({ workflows: [taker], store })
  const handle = await engine.start(taker)
  await engine.settle()
  for (const number of numbers) await handle.sendEvent("number", number)
  await engine.settle()
  expect(await handle.result()).toEqual(numbers)
  expect(counts.messagesRead).toBeLessThanOrEqual(count)
  // Each send may cause one read. A read that finds nothing is short.
  expect(counts.reads).toBeLessThanOrEqual(count + 10)
})

it("a long unread inbox is read once when its instance is loaded", async () => {
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

it("code that takes buffered events writes turns of bounded length", async () => {
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

it("all callers that wait for answers of one instance share one look at its inbox", async () => {
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
  // Nothing will answer the updates, and each waiting caller gets an error.
  await handle.terminate()
  const answers = await Promise.allSettled(updates)
  expect(answers.every((answer) => answer.status === "rejected" && PerdureError.is(answer.reason, "INSTANCE_ENDED"))).toBe(true)
  expect(counts.reads).toBeLessThan(5)
})
