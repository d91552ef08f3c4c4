import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import { note } from "../notebook.ts"
import { becomes, ended, eventsOf, happens, outcomeOf, pause, report, statusOf, until } from "../observation.ts"
import { type Feature, program } from "../program.ts"

class PausedWhileWaiting extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const before = await step.do("before", async () => "before")
    const { payload } = await step.waitForEvent("go", { type: "go" })
    return [before, payload, await step.do("after", async () => "after")]
  }
}

let mayEnd = false
class PausedInAStep extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const work = await step.do("work", async () => {
      note("PausedInAStep", "begins")
      await until(() => mayEnd)
      return "worked"
    })
    note("PausedInAStep", "after the step")
    return [work, await step.do("next", async () => "next")]
  }
}

let mayEndToo = false
class ResumedBeforeItPauses extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return step.do("work", async () => {
      note("ResumedBeforeItPauses", "begins")
      await until(() => mayEndToo)
      return "worked"
    })
  }
}

class EventDuringAPause extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return (await step.waitForEvent("go", { type: "go" })).payload
  }
}

class SleepDuringAPause extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.sleep("rest", 3_000)
    return "rested"
  }
}

class PausedForNothing extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.waitForEvent("go", { type: "go" })
    return "done"
  }
}

class TerminatedWhilePaused extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.waitForEvent("go", { type: "go" })
  }
}

class TerminatedInAStep extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("work", async () => {
      note("TerminatedInAStep", "begins")
      await pause(1_500)
    })
    note("TerminatedInAStep", "is not reached")
  }
}

class TerminatedTooLate extends WorkflowEntrypoint<unknown, { fails: boolean }> {
  async run({ payload }: WorkflowEvent<{ fails: boolean }>) {
    if (payload.fails) throw new Error("failed")
    return "done"
  }
}

class CatchesTermination extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    try {
      await step.waitForEvent("go", { type: "go" })
    } finally {
      note("CatchesTermination", "finally")
    }
  }
}

class SleepUntilBeforeAPause extends WorkflowEntrypoint<unknown, { wakeAt: number }> {
  async run({ payload }: WorkflowEvent<{ wakeAt: number }>, step: WorkflowStep) {
    await step.sleepUntil("rest", payload.wakeAt)
    return (await step.waitForEvent("go", { type: "go" })).payload
  }
}

class StatusWhileWaiting extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.waitForEvent("go", { type: "go" })
  }
}

let mayBeUndone = false
class StatusInARollback extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("a", async () => 1, {
      rollback: async () => {
        note("StatusInARollback", "undoing")
        await until(() => mayBeUndone)
      },
    })
    throw new Error("too bad")
  }
}

export const lifecycle: Feature = {
  title: "Pause, resume and terminate",
  programs: [
    program("the status of an instance that waits", { StatusWhileWaiting }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      const { status } = await instance.status()
      await instance.terminate()
      return { status }
    }),
    program("the status of an instance that is rolled back", { StatusInARollback }, async ({ start, notes }) => {
      const instance = await start()
      await until(() => notes().includes("undoing"))
      const { status } = await instance.status()
      mayBeUndone = true
      return { status, end: await ended(instance) }
    }),
    program("an instance that waits is paused and resumed", { PausedWhileWaiting }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      await instance.pause()
      const paused = await becomes(instance, "paused")
      await instance.resume()
      const resumed = await becomes(instance, "running")
      await instance.sendEvent({ type: "go", payload: "gone" })
      return { paused, resumed, ...(await report(instance)) }
    }),
    program("a pause waits for the end of a running step", { PausedInAStep }, async ({ start, notes }) => {
      const instance = await start()
      await until(() => notes().includes("begins"))
      await instance.pause()
      const waiting = await statusOf(instance)
      await pause(50)
      const stillWaiting = await statusOf(instance)
      mayEnd = true
      const paused = await becomes(instance, "paused")
      const notesInPause = [...notes()]
      await instance.resume()
      return { waiting, stillWaiting, paused, notesInPause, ...(await report(instance)) }
    }),
    program("a resume before the pause takes effect", { ResumedBeforeItPauses }, async ({ start, notes }) => {
      const instance = await start()
      await until(() => notes().includes("begins"))
      await instance.pause()
      const waiting = await statusOf(instance)
      await instance.resume()
      const resumed = await statusOf(instance)
      mayEndToo = true
      return { waiting, resumed, ...(await report(instance)) }
    }),
    program("an event that comes during a pause is received after it", { EventDuringAPause }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      await instance.pause()
      await becomes(instance, "paused")
      await instance.sendEvent({ type: "go", payload: "came in the pause" })
      await pause(100)
      const stillPaused = await statusOf(instance)
      await instance.resume()
      return { stillPaused, end: await ended(instance) }
    }),
    program("a pause stops the clock of a sleep", { SleepDuringAPause }, async ({ start }) => {
      const instance = await start()
      await becomes(instance, "running")
      await pause(100)
      await instance.pause()
      await becomes(instance, "paused")
      await pause(3_200)
      const stillPaused = await statusOf(instance)
      await instance.resume()
      const resumedAt = Date.now()
      const end = await ended(instance)
      return { stillPaused, end, restOfTheSleepAfterResume: Date.now() - resumedAt > 1_000 }
    }),
    program("a sleep until a time has ended before a pause", { SleepUntilBeforeAPause }, async ({ start }) => {
      const instance = await start({ params: { wakeAt: Date.now() + 2_500 } })
      await happens(instance, "wait_started")
      await instance.pause()
      await becomes(instance, "paused")
      await instance.resume()
      await instance.sendEvent({ type: "go", payload: "gone" })
      return { end: await ended(instance) }
    }),
    program("pause, resume and resume again where there is nothing to do", { PausedForNothing }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      const resumed = await outcomeOf(() => instance.resume())
      await instance.pause()
      await becomes(instance, "paused")
      const pausedAgain = await outcomeOf(() => instance.pause())
      await instance.resume()
      await becomes(instance, "running")
      await instance.sendEvent({ type: "go", payload: null })
      const shown = await report(instance)
      return {
        resumed,
        pausedAgain,
        ...shown,
        pausedAtTheEnd: await outcomeOf(() => instance.pause()),
        resumedAtTheEnd: await outcomeOf(() => instance.resume()),
        after: await statusOf(instance),
      }
    }),
    program("a paused instance is terminated", { TerminatedWhilePaused }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      await instance.pause()
      await becomes(instance, "paused")
      await instance.terminate()
      return report(instance)
    }),
    program("terminate does not wait for a running step", { TerminatedInAStep }, async ({ start, notes }) => {
      const instance = await start()
      await until(() => notes().includes("begins"))
      await instance.terminate()
      const end = await ended(instance)
      await pause(2_000)
      return { end, events: await eventsOf(instance) }
    }),
    program("an instance that has ended cannot be terminated", { TerminatedTooLate }, async ({ start }) => {
      const outcomes: unknown[] = []
      for (const fails of [false, true]) {
        const instance = await start({ params: { fails } })
        await ended(instance)
        outcomes.push(await outcomeOf(() => instance.terminate()), await outcomeOf(() => instance.terminate({ rollback: true })))
      }
      return { outcomes }
    }),
    program("terminate twice; no finally block runs", { CatchesTermination }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      await instance.terminate()
      const again = await outcomeOf(() => instance.terminate())
      await pause(50)
      return { again, ...(await report(instance)) }
    }),
  ],
}
