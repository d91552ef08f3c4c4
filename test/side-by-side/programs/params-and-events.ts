import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import { note } from "../notebook.ts"
import { ended, happens, outcomeOf, plain } from "../observation.ts"
import { type Feature, program } from "../program.ts"

class FalsyParams extends WorkflowEntrypoint {
  async run({ payload }: WorkflowEvent<unknown>) {
    note("FalsyParams", JSON.stringify(plain(payload)))
  }
}

class ChangedPayload extends WorkflowEntrypoint<unknown, { list: number[] }> {
  async run({ payload }: WorkflowEvent<{ list: number[] }>, step: WorkflowStep) {
    const { list } = payload
    list.push(list.length + 1)
    await step.do("look", async () => note("ChangedPayload", JSON.stringify(payload)))
    await step.waitForEvent("go", { type: "go" })
    return payload
  }
}

class EventTypes extends WorkflowEntrypoint<unknown, { type: string }> {
  async run({ payload: { type } }: WorkflowEvent<{ type: string }>, step: WorkflowStep) {
    const event = await step.waitForEvent("any", { type })
    return [event.type, plain(event.payload)]
  }
}

class NoPayload extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return plain((await step.waitForEvent("go", { type: "go" })).payload)
  }
}

class EventBeforeItsWait extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.waitForEvent("ready", { type: "ready" })
    await step.sleep("nap", 30)
    const first = await step.waitForEvent("first", { type: "item" })
    await step.do("between", async () => null)
    const second = await step.waitForEvent("second", { type: "item" })
    return [first.payload, second.payload]
  }
}

class RaceOfEvents extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const yes = step.waitForEvent("yes", { type: "yes" }).then(({ payload }) => ["yes", payload])
    const no = step.waitForEvent("no", { type: "no" }).then(({ payload }) => ["no", payload])
    return Promise.race([yes, no])
  }
}

class NoEnd extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.waitForEvent("go", { type: "go" })
  }
}

export const paramsAndEvents: Feature = {
  title: "Params and events at the edge",
  programs: [
    program("params that are falsy", { FalsyParams }, async ({ workflow }) => {
      const ends: unknown[] = []
      for (const params of [null, 0, "", false, [], undefined]) ends.push((await ended(await workflow.create({ params })))["status"])
      return { ends }
    }),
    program("workflow code changes its payload", { ChangedPayload }, async ({ start }) => {
      const instance = await start({ params: { list: [1] } })
      await happens(instance, "wait_started")
      await instance.sendEvent({ type: "go", payload: null })
      return { end: await ended(instance) }
    }),
    program("types of events", { EventTypes }, async ({ start }) => {
      const types = ["a", "with space", "ä-☃", "dots.and:colons/", "x".repeat(100)]
      const send = async (type: string) => {
        const instance = await start({ params: { type } })
        await happens(instance, "wait_started")
        const sent = await outcomeOf(() => instance.sendEvent({ type, payload: 1 }))
        return { sent, end: await ended(instance) }
      }
      return { outcomes: await Promise.all(types.map(send)) }
    }),
    program("an event without a payload", { NoPayload }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      const sent = await outcomeOf(() => instance.sendEvent({ type: "go" } as { type: string; payload: unknown }))
      return { sent, end: await ended(instance) }
    }),
    program("events that come before their waits, between steps and sleeps", { EventBeforeItsWait }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      await instance.sendEvent({ type: "item", payload: "early" })
      await instance.sendEvent({ type: "ready", payload: null })
      await happens(instance, "step_completed")
      await instance.sendEvent({ type: "item", payload: "late" })
      return { end: await ended(instance) }
    }),
    program("a race of two waits", { RaceOfEvents }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started", 2)
      await instance.sendEvent({ type: "no", payload: "thanks" })
      return { end: await ended(instance) }
    }),
    program("calls of an instance that is not there", { NoEnd }, async ({ workflow, start }) => {
      const instance = await start({ id: "deleted-1" })
      await happens(instance, "wait_started")
      await instance.delete()
      const calls = {
        status: () => instance.status(),
        pause: () => instance.pause(),
        resume: () => instance.resume(),
        terminate: () => instance.terminate(),
        restart: () => instance.restart(),
        sendEvent: () => instance.sendEvent({ type: "go", payload: 1 }),
        subscribe: async () => void (await instance.subscribe()),
        get: () => workflow.get("deleted-1"),
      }
      const outcomes: Record<string, unknown> = {}
      for (const [name, call] of Object.entries(calls)) outcomes[name] = await outcomeOf(call)
      return { outcomes }
    }),
  ],
}
