import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import { ended, errorText, happens, report } from "../observation.ts"
import { type Feature, program } from "../program.ts"

class OneEvent extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const event = await step.waitForEvent<{ by: string }>("approval", { type: "approval" })
    return { ...event, timestamp: event.timestamp instanceof Date, keys: Object.keys(event).toSorted() }
  }
}

class BufferedEvents extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.waitForEvent("begin", { type: "begin" })
    const got: unknown[] = []
    for (let round = 0; round < 3; round++) got.push((await step.waitForEvent("item", { type: "item", timeout: "10 seconds" })).payload)
    return got
  }
}

class TypesApart extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const second = await step.waitForEvent("second", { type: "b" })
    const first = await step.waitForEvent("first", { type: "a" })
    return [second.payload, first.payload]
  }
}

class WaitTimeout extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return step.waitForEvent("nothing", { type: "never", timeout: 60 }).catch((error: Error) => [error instanceof Error, errorText(error)])
  }
}

class UncaughtWaitTimeout extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.waitForEvent("nothing", { type: "never", timeout: "0.05 seconds" })
  }
}

class EventAfterTimeout extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const first = await step.waitForEvent("early", { type: "news", timeout: 50 }).catch(errorText)
    const { payload } = await step.waitForEvent("late", { type: "news", timeout: "10 seconds" })
    return [first, payload]
  }
}

class ParallelWaits extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const waits = ["one", "two"].map((name) => step.waitForEvent(name, { type: "ticket" }))
    return (await Promise.all(waits)).map(({ payload }) => payload)
  }
}

class SameWait extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const a = await step.waitForEvent("turn", { type: "a" })
    const b = await step.waitForEvent("turn", { type: "b" })
    return [a.payload, b.payload]
  }
}

class Payloads extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const got: unknown[] = []
    for (let round = 0; round < 5; round++) got.push((await step.waitForEvent("value", { type: "value" })).payload)
    const [date, map, bytes, nothing, list] = got as [Date, Map<string, number>, Uint8Array, undefined, unknown[]]
    return [date instanceof Date && date.getTime(), [...map], [...bytes], nothing === undefined, list]
  }
}

class EventToAnEndedInstance extends WorkflowEntrypoint {
  async run() {
    return "ended"
  }
}

export const waits: Feature = {
  title: "Waiting for events",
  programs: [
    program("an event has its payload, its type and its time", { OneEvent }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      await instance.sendEvent({ type: "approval", payload: { by: "Ada" } })
      return report(instance)
    }),
    program("events are kept until a step waits for them, first in, first out", { BufferedEvents }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      for (const payload of [1, 2, 3]) await instance.sendEvent({ type: "item", payload })
      await instance.sendEvent({ type: "begin", payload: null })
      return report(instance)
    }),
    program("a step takes no event of another type", { TypesApart }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      await instance.sendEvent({ type: "a", payload: "A" })
      await instance.sendEvent({ type: "b", payload: "B" })
      return report(instance)
    }),
    program("a wait that takes too long throws", { WaitTimeout }),
    program("a wait that takes too long ends the instance", { UncaughtWaitTimeout }),
    program("a wait that timed out takes no event", { EventAfterTimeout }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started", 2)
      await instance.sendEvent({ type: "news", payload: "news" })
      return report(instance)
    }),
    program("parallel waits for one type get events in the order in which they asked", { ParallelWaits }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started", 2)
      for (const payload of ["first", "second"]) await instance.sendEvent({ type: "ticket", payload })
      return { end: await ended(instance) }
    }),
    program("waits of the same name count", { SameWait }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      await instance.sendEvent({ type: "a", payload: 1 })
      await instance.sendEvent({ type: "b", payload: 2 })
      return report(instance)
    }),
    program("payloads of many types arrive as they were sent", { Payloads }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      const values = [new Date(86_400_000), new Map([["a", 1]]), new Uint8Array([1, 2, 3]), undefined, [1, "two", null, { three: 3 }]]
      for (const payload of values) await instance.sendEvent({ type: "value", payload })
      return { end: await ended(instance) }
    }),
    program("an event to an instance that has ended", { EventToAnEndedInstance }, async ({ start }) => {
      const instance = await start({ id: "ended-1" })
      await ended(instance)
      const sent = await instance.sendEvent({ type: "late", payload: 1 }).then(
        () => "accepted",
        () => "refused",
      )
      return { sent, ...(await report(instance)) }
    }),
  ],
}
