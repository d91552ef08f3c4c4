import { expect, it } from "vitest"
import { PerdureError } from "../../core/errors.ts"
import { SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import type { Message, NewMessage } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import type { InstanceRunner } from "../runner/instance-runner.ts"
import { MessageBatcher } from "./message-batcher.ts"
import { Timers } from "./timers.ts"

it("two runners of one instance, of which one is being dropped, get each message once", async () => {
  const message = { instance: "i", kind: "event", topic: "go", at: 0, seq: 1 } as const
  // As SQL may do: an id that is asked for twice returns its rows twice.
  const journal = { readInbox: async (ids: readonly string[]) => ids.map(() => message) }
  const received: (readonly Message[])[] = []
  const runner = () => ({ id: "i", isInboxDirty: false, receive: (messages: readonly Message[]) => received.push(messages) }) as unknown as InstanceRunner
  const host = new SimulatedHost()
  const messageBatcher = new MessageBatcher({ journal, directory: {} } as unknown as Store, host, new Timers(host), (_, error) => {
    throw error
  })
  messageBatcher.read(runner())
  messageBatcher.read(runner())
  await messageBatcher.whenIdle()
  expect(received).toEqual([[message], [message]])
})

/** An inbox with two messages. The store has pushed the first one, and the first `failures` reads fail. */
function pushedScene(failures = 0) {
  const message = (instance: string, seq: number) => ({ instance, kind: "event", topic: "go", at: 0, seq }) as const
  const received: number[][] = []
  let failed = 0
  const journal = {
    readInbox: async (ids: readonly string[]) => {
      if (failed++ < failures) throw new Error("not now")
      return ids.flatMap((id) => [message(id, 1), message(id, 2)])
    },
  }
  const runner = (id: string) => {
    const made = {
      id,
      isInboxDirty: false,
      inboxSeen: 0,
      receive(messages: readonly Message[]) {
        made.isInboxDirty = false
        received.push(messages.map(({ seq }) => seq))
      },
    }
    return made as unknown as InstanceRunner
  }
  const host = new SimulatedHost()
  const unreadable: unknown[] = []
  const messageBatcher = new MessageBatcher({ journal, directory: {} } as unknown as Store, host, new Timers(host), (_, error) => unreadable.push(error))
  return { messageBatcher, received, unreadable, message, one: runner("i"), other: runner("j") }
}

it("a pushed message is received at once, unless the inbox is to be read anyway", async () => {
  const { messageBatcher, received, message, one } = pushedScene()
  expect(messageBatcher.receivePushed(one, message("i", 1))).toBe(true)
  expect(received).toEqual([[1]])
  messageBatcher.read(one)
  expect(messageBatcher.receivePushed(one, message("i", 1))).toBe(false)
  await messageBatcher.whenIdle()
  expect(received).toEqual([[1], [1, 2]])
  expect(messageBatcher.receivePushed(one, message("i", 3))).toBe(true)
  expect(received).toEqual([[1], [1, 2], [3]])
})

it("a pushed message that the runner has already is not received again", () => {
  const { messageBatcher, received, message, one } = pushedScene()
  Object.assign(one, { inboxSeen: 1 })
  expect(messageBatcher.receivePushed(one, message("i", 1))).toBe(false)
  expect(received).toEqual([])
})

it("a bug in the handling of a pushed message affects only its instance", () => {
  const { messageBatcher, unreadable, message, one } = pushedScene()
  const bug = new Error("a flaw")
  Object.assign(one, {
    receive: () => {
      throw bug
    },
  })
  expect(messageBatcher.receivePushed(one, message("i", 1))).toBe(true)
  expect(unreadable).toEqual([bug])
})

it("a requested read is not forgotten when the inboxes of several runners cannot be read at once", async () => {
  const { messageBatcher, received, message, one, other } = pushedScene(1)
  messageBatcher.read(one)
  messageBatcher.read(other)
  expect(messageBatcher.receivePushed(other, message("j", 1))).toBe(false)
  await messageBatcher.whenIdle()
  expect(received).toEqual([
    [1, 2],
    [1, 2],
  ])
})

it.each([
  ["of which nothing is done are sent one by one", false, 3],
  ["of which nobody knows whether they are delivered are not sent again", true, 1],
])("messages %s", async (_, isUnknown, calls) => {
  let called = 0
  const directory = {
    deliver: async (messages: readonly NewMessage[]) => {
      if (called++ === 0) throw new PerdureError("STORE_UNREACHABLE", "it is away", { details: { isUnknown } })
      return messages.map(() => "delivered")
    },
  }
  const host = new SimulatedHost()
  const messageBatcher = new MessageBatcher({ journal: {}, directory } as unknown as Store, host, new Timers(host), () => undefined)
  const send = (topic: string) => messageBatcher.deliver({ instance: "i", kind: "event", topic, at: 0 })
  const outcomes = await Promise.allSettled([send("a"), send("b")])
  expect(outcomes.map(({ status }) => status)).toEqual(isUnknown ? ["rejected", "rejected"] : ["fulfilled", "fulfilled"])
  expect(called).toBe(calls)
})
