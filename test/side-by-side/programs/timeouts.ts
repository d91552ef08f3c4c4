import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import { note } from "../notebook.ts"
import { errorText, pause } from "../observation.ts"
import { type Feature, program } from "../program.ts"

/** Long after the timeouts, however busy the machine is. */
const longMs = 8_000

class SlowAttempt extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("slow", { timeout: 40, retries: { limit: 1, delay: 10, backoff: "constant" } }, async ({ attempt }) => {
      note("SlowAttempt", `attempt ${attempt}`)
      await pause(longMs)
      return "too late"
    })
  }
}

class FastSecondAttempt extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return step.do("slow at first", { timeout: "1 second", retries: { limit: 1, delay: 10, backoff: "constant" } }, async ({ attempt }) => {
      if (attempt === 1) await pause(longMs)
      return attempt
    })
  }
}

class CaughtTimeout extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const caught = await step.do("slow", { timeout: "0.05 seconds", retries: { limit: 0, delay: 1 } }, async () => pause(longMs)).catch(errorText)
    return [caught, await step.do("next", async () => "went on")]
  }
}

class TimeoutInTime extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return step.do("in time", { timeout: "10 seconds" }, async ({ config }) => {
      await pause(20)
      return config.timeout
    })
  }
}

export const timeouts: Feature = {
  title: "Timeouts of attempts",
  programs: [
    program("an attempt that takes too long fails, and is tried again", { SlowAttempt }),
    program("the attempt after a timeout succeeds", { FastSecondAttempt }),
    program("workflow code catches a timeout", { CaughtTimeout }),
    program("a callback that is in time is not interrupted", { TimeoutInTime }),
  ],
}
