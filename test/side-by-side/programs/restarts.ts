import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import { note, notesOf } from "../notebook.ts"
import { becomes, ended, happens, outcomeOf, pause, rawEventsOf, report, statusOf, until } from "../observation.ts"
import { type Feature, program } from "../program.ts"

/** Four steps of which two have one name, a sleep and a wait. Each run notes what it does anew. */
const stages = (name: string) =>
  class extends WorkflowEntrypoint<unknown, { fails?: boolean }> {
    async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
      const work = (label: string, result: string) =>
        step.do(label, async ({ step: { count } }) => {
          note(name, `${label}-${count}`)
          return result
        })
      const first = await work("a", "first")
      const second = await work("a", "second")
      await step.sleep("nap", 10)
      const third = await work("b", "third")
      const event = await step.waitForEvent("news", { type: "news", timeout: "20 seconds" })
      const last = await work("c", "last")
      return [first, second, third, event.payload, last]
    }
  }

class RestartCompleted extends WorkflowEntrypoint {
  async run({ payload }: WorkflowEvent<unknown>, step: WorkflowStep) {
    return step.do("work", async () => {
      note("RestartCompleted", "works")
      return payload
    })
  }
}

let failures = 0
class RestartErrored extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const kept = await step.do("kept", async () => {
      note("RestartErrored", "kept")
      return "kept"
    })
    const second = await step.do("fails once", { retries: { limit: 0, delay: 1 } }, async () => {
      if (failures++ === 0) throw new Error("not yet")
      return "second"
    })
    return [kept, second]
  }
}

class RestartBuffered extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const first = await step.waitForEvent("first", { type: "first" })
    const second = await step.waitForEvent("second", { type: "second", timeout: 400 }).catch(() => ({ payload: "nothing" }))
    return [first.payload, second.payload]
  }
}

class RestartUnknown extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.sleep("nap", 10)
    return step.do("work", async () => "worked")
  }
}

class RestartPaused extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return (await step.waitForEvent("go", { type: "go" })).payload
  }
}

class RestartTerminated extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return (await step.waitForEvent("go", { type: "go" })).payload
  }
}

class RestartInAStep extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const first = await step.do("first", async () => {
      note("RestartInAStep", "first")
      return "first"
    })
    const { length } = notesOf("RestartInAStep").filter((line) => line === "slow begins")
    const second = await step.do("slow", async () => {
      note("RestartInAStep", "slow begins")
      if (length === 0) await pause(8_000)
      return `slow of run ${length + 1}`
    })
    return [first, second]
  }
}

class RestartEventIds extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return step.do("work", async () => "worked")
  }
}

type From = NonNullable<Parameters<WorkflowInstanceOf["restart"]>[0]>["from"]
type WorkflowInstanceOf = Awaited<ReturnType<import("perdure/cloudflare-workflows").WorkflowBinding["get"]>>

/** Runs the stages to their end, restarts from the step, and sends another event if the wait comes again. */
const restartedFrom = (name: string, from: NonNullable<From>, waitsAgain: boolean) =>
  program(
    `a restart from ${from.type ?? "do"} ${JSON.stringify(from.name)}${from.count === undefined ? "" : `, count ${from.count}`}`,
    { [name]: stages(name) },
    async ({ start, notes }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      await instance.sendEvent({ type: "news", payload: "old" })
      await ended(instance)
      const firstRun = notes().length
      await instance.restart({ from })
      if (waitsAgain) {
        await happens(instance, "wait_started")
        await instance.sendEvent({ type: "news", payload: "new" })
      }
      return { ...(await report(instance)), doneAgain: notes().slice(firstRun) }
    },
  )

export const restarts: Feature = {
  title: "Restart",
  programs: [
    program("a restart of an instance that is complete begins anew", { RestartCompleted }, async ({ start }) => {
      const instance = await start({ params: "same" })
      const first = await ended(instance)
      await instance.restart()
      return { first, ...(await report(instance)) }
    }),
    program("a restart of an instance that errored begins anew", { RestartErrored }, async ({ start }) => {
      const instance = await start()
      const first = await ended(instance)
      await instance.restart()
      return { first, ...(await report(instance)) }
    }),
    program("a restart drops events that were kept", { RestartBuffered }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      await instance.sendEvent({ type: "second", payload: "from before" })
      await instance.restart()
      await happens(instance, "wait_started")
      await instance.sendEvent({ type: "first", payload: "from after" })
      return { end: await ended(instance) }
    }),
    program("a restart from a step that there is not", { RestartUnknown }, async ({ start }) => {
      const instance = await start()
      await ended(instance)
      const from = [{ name: "nothing" }, { name: "work", count: 2 }, { name: "nap" }, { name: "work", type: "sleep" as const }]
      const outcomes: unknown[] = []
      for (const step of from) outcomes.push(await outcomeOf(() => instance.restart({ from: step })))
      return { outcomes, after: await statusOf(instance) }
    }),
    program("a restart of a paused instance runs", { RestartPaused }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      await instance.pause()
      await becomes(instance, "paused")
      await instance.restart()
      await happens(instance, "wait_started")
      const restarted = await becomes(instance, "running")
      await instance.sendEvent({ type: "go", payload: "gone" })
      return { restarted, ...(await report(instance)) }
    }),
    program("a restart of a terminated instance runs", { RestartTerminated }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      await instance.terminate()
      const first = await ended(instance)
      await instance.restart()
      await happens(instance, "wait_started")
      await instance.sendEvent({ type: "go", payload: "gone" })
      return { first, ...(await report(instance)) }
    }),
    program("a restart does not wait for a running step", { RestartInAStep }, async ({ start, notes }) => {
      const instance = await start()
      await until(() => notes().includes("slow begins"))
      await instance.restart()
      return report(instance)
    }),
    program("event ids grow over a restart", { RestartEventIds }, async ({ start }) => {
      const instance = await start()
      const before = await rawEventsOf(instance)
      await instance.restart()
      await ended(instance)
      const after = await rawEventsOf(instance)
      return { grow: (after[0]?.eventId ?? 0) > (before.at(-1)?.eventId ?? 0) }
    }),
    restartedFrom("RestartFromFirst", { name: "a" }, true),
    restartedFrom("RestartFromSecond", { name: "a", count: 2 }, true),
    restartedFrom("RestartFromSleep", { name: "nap", type: "sleep" }, true),
    restartedFrom("RestartFromWait", { name: "news", type: "waitForEvent" }, true),
    restartedFrom("RestartFromLast", { name: "c" }, false),
  ],
}
