import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import { note } from "../notebook.ts"
import { type Feature, program } from "../program.ts"

class OneStep extends WorkflowEntrypoint<unknown, { word: string }> {
  async run({ payload }: WorkflowEvent<{ word: string }>, step: WorkflowStep) {
    return step.do("greet", async () => `${payload.word}, world`)
  }
}

class StepContext extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const plainContext = await step.do("plain", async (ctx) => ctx)
    const given = await step.do(
      "configured",
      { retries: { limit: 2, delay: "1 second", backoff: "linear" }, timeout: "5 seconds", sensitive: "output" },
      async (ctx) => ctx,
    )
    return { plainContext, given }
  }
}

class SameName extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const results: unknown[] = []
    for (let round = 0; round < 3; round++)
      results.push(
        await step.do("round", async ({ step: { name, count } }) => {
          note("SameName", `round ${round}`)
          return [round, name, count]
        }),
      )
    return results
  }
}

class Parallel extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return Promise.all(["a", "b", "c"].map((name) => step.do(name, async () => name.toUpperCase())))
  }
}

class NoResult extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const nothing = await step.do("nothing", async () => undefined)
    const empty = await step.do("null", async () => null)
    note("NoResult", `${String(nothing)} ${String(empty)}`)
  }
}

class NoSteps extends WorkflowEntrypoint {
  async run({ payload }: WorkflowEvent<unknown>) {
    return { payload }
  }
}

export const stepsAndResults: Feature = {
  title: "Steps and results",
  programs: [
    program("a step gives what its callback returns", { OneStep }),
    program("a callback is given the step, the attempt and the config", { StepContext }),
    program("steps of the same name count", { SameName }),
    program("parallel steps give their results in order", { Parallel }),
    program("a step may return nothing", { NoResult }),
    program("a workflow without steps gives what it returns", { NoSteps }),
  ],
}
