import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import { NonRetryableError } from "cloudflare:workflows"
import { note } from "../notebook.ts"
import { ended, errorText, plain } from "../observation.ts"
import { type Feature, program } from "../program.ts"

class SecondAttempt extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return step.do("flaky", { retries: { limit: 2, delay: 20, backoff: "constant" } }, async ({ attempt }) => {
      note("SecondAttempt", `attempt ${attempt}`)
      if (attempt === 1) throw new RangeError("not yet")
      return attempt
    })
  }
}

class AllAttemptsFail extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("hopeless", { retries: { limit: 2, delay: 10, backoff: "exponential" } }, async ({ attempt }) => {
      note("AllAttemptsFail", `attempt ${attempt}`)
      throw new TypeError(`attempt ${attempt} failed`)
    })
  }
}

class CaughtFailure extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return step
      .do("hopeless", { retries: { limit: 0, delay: 10 } }, async () => {
        throw new SyntaxError("no")
      })
      .catch((error: Error) => [error instanceof Error, errorText(error)])
  }
}

class NoRetry extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("final", async () => {
      note("NoRetry", "called")
      throw new NonRetryableError("never again")
    })
  }
}

class EndlessRetries extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return step.do("patient", { retries: { limit: Infinity, delay: 1, backoff: "constant" } }, async ({ attempt, config }) => {
      if (attempt < 8) throw new Error("not yet")
      return [attempt, config.retries?.limit === Infinity]
    })
  }
}

class ThrownValues extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const shown: unknown[] = []
    for (const value of ["text", 5, null, undefined, { name: "Odd", message: "an object" }])
      shown.push(
        await step
          .do("throws", { retries: { limit: 0, delay: 1 } }, async () => {
            throw value
          })
          .then(
            () => "no error",
            (error: unknown) => plain(error),
          ),
      )
    return shown
  }
}

export const retries: Feature = {
  title: "Retries and attempts",
  programs: [
    program("a failed step is tried again", { SecondAttempt }),
    program("the error of the last attempt ends the instance", { AllAttemptsFail }),
    program("workflow code catches the error of a step", { CaughtFailure }),
    program("retries without a limit", { EndlessRetries }, async ({ start }) => ({ end: await ended(await start()) })),
    program("values that are no errors are thrown", { ThrownValues }, async ({ start }) => ({ end: await ended(await start()) })),
    program("a NonRetryableError is not tried again, and keeps its name and message", { NoRetry }),
  ],
}
