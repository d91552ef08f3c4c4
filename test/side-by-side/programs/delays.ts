import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import type { WorkflowStepConfig } from "perdure/cloudflare-workflows"
import { note } from "../notebook.ts"
import { errorText } from "../observation.ts"
import { type Feature, program } from "../program.ts"

type Delay = NonNullable<WorkflowStepConfig["retries"]>["delay"]
type Backoff = NonNullable<WorkflowStepConfig["retries"]>["backoff"]

/** A step that fails four times; the events tell the delays. */
function fourFailures(step: WorkflowStep, delay: Delay, backoff?: Backoff): Promise<string> {
  const retries = { limit: 3, delay, ...(backoff && { backoff }) }
  return step
    .do("fails", { retries } as WorkflowStepConfig, async ({ attempt }) => {
      throw new Error(`attempt ${attempt}`)
    })
    .catch((error: Error) => error.message)
}

class ConstantDelay extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return fourFailures(step, 200, "constant")
  }
}

class LinearDelay extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return fourFailures(step, 200, "linear")
  }
}

class ExponentialDelay extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return fourFailures(step, 200, "exponential")
  }
}

class DefaultBackoff extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return fourFailures(step, 200)
  }
}

class DelayAsText extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return fourFailures(step, "0.2 seconds", "constant")
  }
}

class NoDelay extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return fourFailures(step, 0, "constant")
  }
}

class DelayFunction extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return fourFailures(
      step,
      ({ ctx, error }) => {
        note(
          "DelayFunction",
          `${ctx.step.name}-${ctx.step.count} attempt ${ctx.attempt}: ${error.message} ${JSON.stringify(Object.keys(ctx.config.retries ?? {}).toSorted())}`,
        )
        return 200 * ctx.attempt
      },
      "constant",
    )
  }
}

class DelayFunctionWithBackoff extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return fourFailures(step, async () => "0.2 seconds" as const, "linear")
  }
}

class DelayFunctionDefaultBackoff extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return fourFailures(step, () => 200)
  }
}

class DelayFunctionThrows extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do(
      "fails",
      {
        retries: {
          limit: 3,
          delay: () => {
            throw new TypeError("no idea")
          },
        },
      },
      async () => {
        note("DelayFunctionThrows", "called")
        throw new Error("first")
      },
    )
  }
}

class DelayFunctionGivesNonsense extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const message = (given: unknown) =>
      step
        .do("fails", { retries: { limit: 1, delay: () => given as number } }, async () => {
          throw new Error("first")
        })
        .catch(errorText)
    return [await message("soon"), await message(-5), await message(NaN)]
  }
}

export const delays: Feature = {
  title: "Delays and backoff",
  programs: [
    program("a constant delay", { ConstantDelay }),
    program("a linear delay", { LinearDelay }),
    program("an exponential delay", { ExponentialDelay }),
    program("the backoff is exponential where the config names none", { DefaultBackoff }),
    program("a delay in words", { DelayAsText }),
    program("a delay of zero", { NoDelay }),
    program("a delay function is given the attempt and its error", { DelayFunction }),
    program("the backoff applies to what an async delay function gives", { DelayFunctionWithBackoff }),
    program("the default backoff applies to a delay function", { DelayFunctionDefaultBackoff }),
    program("a delay function that throws ends the step", { DelayFunctionThrows }),
    program("a delay function that gives no delay ends the step", { DelayFunctionGivesNonsense }),
  ],
}
