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

/** A store that has heard the first of two messages, and whose inboxes cannot be read so often at first. */
function heardScene(failures = 0) {
  const message = (instance: string, seq: number) => ({ instance, kind: "event", topic: "go", at: 0, seq }) as const
  const received: number[][] = []
  let failed = 0
  const journal = {
    heardMail: async (ids: readonly string[]) => ids.map((id) => message(id, 1)),
    readInbox: async (ids: readonly string[]) => {
      if (failed++ < failures) throw new Error("not now")
      return ids.flatMap((id) => [message(id, 1), message(id, 2)])
    },
  }
  const runner = (id: string) =>
    ({ id, inboxDirty: false, receive: (messages: readonly Message[]) => received.push(messages.map(({ seq }) => seq)) }) as unknown as InstanceRunner
  const host = new SimulatedHost()
  const mailroom = new Mailroom({ journal, directory: {} } as unknown as Store, host, new Timers(host), (_, error) => {
    throw error
  })
  return { mailroom, received, one: runner("i"), other: runner("j") }
}

it("what the store has heard is enough where it told of it, and nobody has another reason to read", async () => {
  const { mailroom, received, one } = heardScene()
  mailroom.read(one, true)
  await mailroom.whenIdle()
  expect(received).toEqual([[1]])
  mailroom.read(one, true)
  mailroom.read(one)
  await mailroom.whenIdle()
  expect(received).toEqual([[1], [1, 2]])
})

it("a reason to read is not forgotten where the inboxes of several cannot be read at once", async () => {
  const { mailroom, received, one, other } = heardScene(1)
  mailroom.read(one)
  mailroom.read(other, true)
  await mailroom.whenIdle()
  expect(received).toEqual([
    [1, 2],
    [1, 2],
  ])
})
