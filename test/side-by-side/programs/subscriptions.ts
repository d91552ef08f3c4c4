import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import type { WorkflowInstance, WorkflowInstanceEvent, WorkflowInstanceSubscribeOptions } from "perdure/cloudflare-workflows"
import { ended, eventsOf, happens, outcomeOf, plain, rawEventsOf } from "../observation.ts"
import { type Feature, program } from "../program.ts"

/** A class of its own for each program. */
const twoSteps = () =>
  class extends WorkflowEntrypoint {
    async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
      const first = await step.do("one", async () => 1)
      return first + (await step.do("two", async () => 2))
    }
  }

const waiting = () =>
  class extends WorkflowEntrypoint {
    async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
      const { payload } = await step.waitForEvent("go", { type: "go" })
      return step.do("echo", async () => payload)
    }
  }

class SecretStep extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const secret = await step.do("secret", { sensitive: "output" }, async () => "the secret")
    return { isGiven: secret === "the secret" }
  }
}

class SecretFailure extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("secret", { sensitive: "output", retries: { limit: 0, delay: 1 } }, async () => Promise.reject(new RangeError("not hidden")))
  }
}

class ConfigOfEvents extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return step.do("configured", { timeout: "5 seconds" }, async () => 1)
  }
}

async function refusal(instance: WorkflowInstance, options: unknown): Promise<unknown> {
  return outcomeOf(async () => {
    const subscription = await instance.subscribe(options as WorkflowInstanceSubscribeOptions)
    subscription[Symbol.dispose]()
    return "accepted"
  })
}

const shapeOf = (event: WorkflowInstanceEvent) => Object.keys(event).toSorted()

export const subscriptions: Feature = {
  title: "Subscriptions and sensitive output",
  programs: [
    program("a filter passes only the types that it names", { Filtered: twoSteps() }, async ({ start }) => {
      const instance = await start()
      const some = await eventsOf(instance, { filter: ["step_completed", "workflow_completed"] })
      return { some, without: await eventsOf(instance, { filter: ["attempt_started"] }), none: await eventsOf(instance, { filter: [] }) }
    }),
    program("a cursor goes on after the event of that id", { AfterCursor: twoSteps() }, async ({ start }) => {
      const instance = await start()
      const all = await rawEventsOf(instance)
      const third = all[2]?.eventId ?? -1
      const last = all.at(-1)?.eventId ?? -1
      return {
        rest: await eventsOf(instance, { cursor: third }),
        filtered: await eventsOf(instance, { cursor: third, filter: ["step_completed"] }),
        afterTheLast: await eventsOf(instance, { cursor: last }),
        farAway: await eventsOf(instance, { cursor: last + 1_000 }),
      }
    }),
    program("event ids grow, and every event has its instance and its time", { EventIds: twoSteps() }, async ({ start }) => {
      const instance = await start({ id: "events-1" })
      const events = await rawEventsOf(instance)
      return {
        grow: events.every(({ eventId }, index) => Number.isInteger(eventId) && eventId > (events[index - 1]?.eventId ?? -1)),
        instances: [...new Set(events.map(({ instanceId }) => instanceId))],
        times: events.every(({ timestamp }, index) => typeof timestamp === "number" && timestamp >= (events[index - 1]?.timestamp ?? 0)),
        shapes: events.filter(({ type }) => type !== "step_started").map(shapeOf),
      }
    }),
    program("a subscriber gets events as they happen", { Followed: waiting() }, async ({ start }) => {
      const instance = await start()
      const following = eventsOf(instance)
      await happens(instance, "wait_started")
      await instance.sendEvent({ type: "go", payload: "gone" })
      const live = await following
      return { live, same: JSON.stringify(live) === JSON.stringify(await eventsOf(instance)) }
    }),
    program("two subscribers get the same events", { Twice: waiting() }, async ({ start }) => {
      const instance = await start()
      const both = [eventsOf(instance), eventsOf(instance, { filter: ["wait_started", "wait_completed", "workflow_completed"] })]
      await happens(instance, "wait_started")
      await instance.sendEvent({ type: "go", payload: 1 })
      return { both: await Promise.all(both) }
    }),
    program("a subscription that is disposed of ends", { Disposed: waiting() }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      const subscription = await instance.subscribe()
      const first = await subscription.next()
      subscription[Symbol.dispose]()
      await instance.sendEvent({ type: "go", payload: 1 })
      return { first: first.done === true ? "done" : first.value.type, end: await ended(instance) }
    }),
    program("calls of next are answered in order", { NextInOrder: twoSteps() }, async ({ start }) => {
      const instance = await start()
      await ended(instance)
      const subscription = await instance.subscribe()
      const answers = await Promise.all(Array.from({ length: 15 }, async () => subscription.next()))
      subscription[Symbol.dispose]()
      return { answers: answers.map((answer) => (answer.done === true ? "done" : answer.value.type)) }
    }),
    program("options of subscribe that are none", { BadOptions: twoSteps() }, async ({ start }) => {
      const instance = await start()
      await ended(instance)
      const options = [
        { cursor: -1 },
        { cursor: 1.5 },
        { cursor: "1" },
        { cursor: NaN },
        { filter: "step_completed" },
        { filter: ["nonsense"] },
        { cursor: null },
        null,
        5,
      ]
      const outcomes: unknown[] = []
      for (const some of options) outcomes.push(await refusal(instance, some))
      return { outcomes }
    }),
    program("step_started tells the config of the step", { ConfigOfEvents }, async ({ start }) => {
      const events = await rawEventsOf(await start(), { filter: ["step_started"] })
      return { configs: events.map((event) => plain("config" in event ? event.config : "none")) }
    }),
    program("sensitive output is hidden in the events, and given to the code", { SecretStep }),
    program("an error of a sensitive step is shown", { SecretFailure }),
  ],
}
