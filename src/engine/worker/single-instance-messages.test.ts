import { expect, it } from "vitest"
import { macrotask, SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import type { Directory } from "../../ports/directory.ts"
import type { InboxPart, JournalStore, Message } from "../../ports/journal-store.ts"
import type { InstanceRunner } from "../runner/instance-runner.ts"
import { SingleInstanceMessages } from "./single-instance-messages.ts"

it("a long inbox is read once, a few hundred messages at a time, with a macrotask in between", async () => {
  const inbox = Array.from({ length: 1_000 }, (_, at) => ({ instance: "i", kind: "event", topic: "go", at: 0, seq: at + 1 }) as const)
  let macrotasks = 0
  let isOver = false
  const tick = () => {
    macrotasks++
    if (!isOver) macrotask(tick)
  }
  const reads: { readonly count: number; readonly macrotask: number }[] = []
  const journal = {
    readInbox: async (_: readonly string[], { after, limit }: InboxPart) => {
      const messages = inbox.filter(({ seq }) => seq > (after[0] ?? 0)).slice(0, limit)
      reads.push({ count: messages.length, macrotask: macrotasks })
      return messages
    },
  } as unknown as JournalStore
  const messageBatcher = new SingleInstanceMessages({ directory: {} as Directory, journal }, new SimulatedHost(), (_, error) => {
    throw error
  })
  const received: number[] = []
  const runner = {
    id: "i",
    isGone: false,
    isInboxDirty: false,
    inboxSeen: 0,
    receive(messages: readonly Message[], isAll: boolean) {
      received.push(...messages.map(({ seq }) => seq))
      this.inboxSeen = messages.at(-1)?.seq ?? this.inboxSeen
      this.isInboxDirty = !isAll
    },
  }
  tick()
  messageBatcher.read(runner as unknown as InstanceRunner)
  while (!messageBatcher.idle) await new Promise<void>((resolve) => macrotask(resolve))
  isOver = true
  expect(received).toEqual(inbox.map(({ seq }) => seq))
  expect(reads.map(({ count }) => count)).toEqual([256, 256, 256, 232])
  expect(new Set(reads.map((read) => read.macrotask)).size).toBe(reads.length)
  expect(runner.isInboxDirty).toBe(false)
})
