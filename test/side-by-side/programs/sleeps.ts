import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import { ended, rawEventsOf } from "../observation.ts"
import { type Feature, program } from "../program.ts"

class Sleep extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const before = Date.now()
    await step.sleep("rest", 50)
    return Date.now() - before >= 50
  }
}

class SleepInWords extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.sleep("rest", "0.05 seconds")
    await step.sleep("rest", "0.02 second")
    return "rested"
  }
}

class SameSleep extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    for (let round = 0; round < 3; round++) await step.sleep("rest", 10)
    await step.do("rest", async () => "a step of the same name")
  }
}

class SleepUntil extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const wakeAt = Date.now() + 2_500
    await step.sleepUntil("a date", new Date(wakeAt))
    await step.sleepUntil("a number", Date.now() + 2_000)
    return Date.now() >= wakeAt
  }
}

class SleepInThePast extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.sleepUntil("yesterday", new Date(Date.now() - 86_400_000))
  }
}

class ZeroSleep extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.sleep("not at all", 0)
    return "awake"
  }
}

class OddDurations extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.sleep("digits", "20" as unknown as number)
    await step.sleep("fraction", 10.5)
    await step.sleep("plural", "0.01 seconds")
    await step.sleep("below zero", -1)
    return "awake"
  }
}

class LongerSleep extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.sleep("rest", 300)
  }
}

class SleepBesideAStep extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return Promise.race([step.sleep("long", 6_000).then(() => "slept"), step.do("fast", async () => "worked")])
  }
}

export const sleeps: Feature = {
  title: "Sleeps",
  programs: [
    program("a sleep takes its time", { Sleep }),
    program("durations in words", { SleepInWords }),
    program("sleeps of the same name count apart from steps", { SameSleep }),
    program("a sleep until a time", { SleepUntil }),
    program("a sleep until a time in the past is refused", { SleepInThePast }),
    program("a sleep of no time", { ZeroSleep }),
    program("durations in digits, in fractions and below zero", { OddDurations }),
    program("the event tells how long a sleep takes", { LongerSleep }, async ({ start }) => {
      const events = await rawEventsOf(await start(), { filter: ["sleep_started"] })
      return { durations: events.map((event) => "durationMs" in event && event.durationMs >= 300 && event.durationMs < 5_000) }
    }),
    program("a race between a sleep and a step", { SleepBesideAStep }, async ({ start }) => ({ end: await ended(await start()) })),
  ],
}
