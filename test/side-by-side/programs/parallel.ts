import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import { note } from "../notebook.ts"
import { ended, errorText, happens, pause, report } from "../observation.ts"
import { type Drive, type Feature, program } from "../program.ts"

const onlyEnd: Drive = async ({ start }) => ({ end: await ended(await start()) })

const once = { retries: { limit: 0, delay: 1 } }

class OneOfThreeFails extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return Promise.all([
      step.do("a", async () => "a"),
      step.do("b", once, async () => Promise.reject(new RangeError("b fails"))),
      step.do("c", async () => {
        await pause(30)
        return "c"
      }),
    ])
  }
}

class AllSettled extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const settled = await Promise.allSettled([step.do("a", async () => 1), step.do("b", once, async () => Promise.reject(new Error("no")))])
    return settled.map((result) => (result.status === "fulfilled" ? result.value : errorText(result.reason as Error)))
  }
}

class SameNamesAtOnce extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return Promise.all(Array.from({ length: 5 }, (__, index) => step.do("same", async ({ step: { count } }) => [index, count])))
  }
}

class ManySteps extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const results = await Promise.all(Array.from({ length: 60 }, (__, index) => step.do(`step ${index}`, async () => index)))
    return results.reduce((sum, result) => sum + result, 0)
  }
}

class RetriesAtOnce extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const flaky = (name: string, failures: number) =>
      step.do(name, { retries: { limit: 3, delay: 20, backoff: "constant" } }, async ({ attempt }) => {
        note("RetriesAtOnce", `${name} ${attempt}`)
        if (attempt <= failures) throw new Error("not yet")
        return attempt
      })
    return Promise.all([flaky("a", 2), flaky("b", 0), flaky("c", 1)])
  }
}

class FirstOfTwo extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const slow = step.do("slow", async () => {
      await pause(1_500)
      return "slow"
    })
    const first = await Promise.race([slow, step.do("fast", async () => "fast")])
    return [first, await slow]
  }
}

class StepInAStep extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return step.do("outer", async () => {
      const inner = await step.do("inner", async () => "inner")
      return `${inner} and outer`
    })
  }
}

class WaitInAStep extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return step.do("outer", async () => {
      await step.sleep("nap", 20)
      return (await step.waitForEvent("go", { type: "go" })).payload as string
    })
  }
}

class StepInARetriedStep extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return step.do("outer", { retries: { limit: 1, delay: 10, backoff: "constant" } }, async ({ attempt }) => {
      const inner = await step.do("inner", async () => {
        note("StepInARetriedStep", `inner in attempt ${attempt}`)
        return attempt
      })
      if (attempt === 1) throw new Error("not yet")
      return [inner, attempt]
    })
  }
}

class ForgottenStep extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    void step.do("forgotten", async () => pause(6_000))
    return "ended first"
  }
}

class StepsAfterOneAnother extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    let sum = 0
    for (let index = 1; index <= 20; index++) sum = await step.do("add", async () => sum + index)
    return sum
  }
}

export const parallel: Feature = {
  title: "Parallel steps",
  programs: [
    program("one of three steps fails", { OneOfThreeFails }, onlyEnd),
    program("steps that all settle", { AllSettled }, onlyEnd),
    program("steps of one name at once count in the order of the calls", { SameNamesAtOnce }, onlyEnd),
    program("sixty steps at once", { ManySteps }, onlyEnd),
    program("retries of parallel steps", { RetriesAtOnce }, async ({ start, notes }) => {
      const end = await ended(await start())
      return { end, attempts: notes().toSorted() }
    }),
    program("a race of two steps", { FirstOfTwo }, onlyEnd),
    program("a step inside of a step", { StepInAStep }),
    program("a sleep and a wait inside of a step", { WaitInAStep }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      await instance.sendEvent({ type: "go", payload: "gone" })
      return report(instance)
    }),
    program("a step inside of a step that is tried again", { StepInARetriedStep }, onlyEnd),
    program("the workflow ends before one of its steps", { ForgottenStep }, onlyEnd),
    program("twenty steps after one another", { StepsAfterOneAnother }),
  ],
}
