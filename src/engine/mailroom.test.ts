import { expect, it } from "vitest"
import { SimulatedHost } from "../hosts/simulated/simulated-host.ts"
import type { Message } from "../ports/journal-store.ts"
import type { Store } from "../ports/store.ts"
import type { InstanceRunner } from "./instance-runner.ts"
import { Mailroom } from "./mailroom.ts"
import { Timers } from "./timers.ts"

it("two runners of one instance, of which one is being dropped, get each message once", async () => {
  const message = { instance: "i", kind: "event", topic: "go", at: 0, seq: 1 } as const
  // As SQL may: who asks for an id twice gets its rows twice.
  const journal = { readInbox: async (ids: readonly string[]) => ids.map(() => message) }
  const received: (readonly Message[])[] = []
  const runner = () => ({ id: "i", inboxDirty: false, receive: (messages: readonly Message[]) => received.push(messages) }) as unknown as InstanceRunner
  const host = new SimulatedHost()
  const mailroom = new Mailroom({ journal, directory: {} } as unknown as Store, host, new Timers(host), (_, error) => {
    throw error
  })
  mailroom.read(runner())
  mailroom.read(runner())
  await mailroom.whenIdle()
  expect(received).toEqual([[message], [message]])
})
