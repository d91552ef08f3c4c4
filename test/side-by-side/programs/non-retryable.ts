import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import { NonRetryableError } from "cloudflare:workflows"
import { note } from "../notebook.ts"
import { ended, errorText } from "../observation.ts"
import { type Feature, program } from "../program.ts"

class NamedNonRetryable extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("final", { retries: { limit: 1, delay: 10 } }, async ({ attempt }) => {
      note("NamedNonRetryable", `attempt ${attempt}`)
      throw new NonRetryableError("the card is declined", "DeclinedError")
    })
  }
}

class CaughtNonRetryable extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const caught = await step
      .do("final", async () => {
        throw new NonRetryableError("no")
      })
      .catch((error: Error) => [error instanceof Error, errorText(error)])
    return [caught, await step.do("next", async () => "went on")]
  }
}

class MarkedByMessage extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("final", async ({ attempt }) => {
      note("MarkedByMessage", `attempt ${attempt}`)
      throw new Error("NonRetryableError: by its message")
    })
  }
}

class MarkedByName extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("final", async ({ attempt }) => {
      note("MarkedByName", `attempt ${attempt}`)
      throw Object.assign(new Error("by its name"), { name: "NonRetryableError" })
    })
  }
}

class ThrownByTheWorkflow extends WorkflowEntrypoint {
  async run() {
    throw new NonRetryableError("thrown outside of a step")
  }
}

class PlainErrorOfTheWorkflow extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("fine", async () => 1)
    throw new RangeError("thrown outside of a step")
  }
}

class OwnErrorClass extends WorkflowEntrypoint {
  async run() {
    class StockError extends Error {
      override name = "StockError"
    }
    throw new StockError("sold out")
  }
}

class NamesOfErrors extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const once = { retries: { limit: 0, delay: 1 } }
    const caught = (call: Promise<unknown>) => call.catch(({ name, message }: Error) => ({ name, message }))
    const own = () => Promise.reject(Object.assign(new Error("sold out"), { name: "StockError" }))
    return [
      await caught(step.do("own", once, own)),
      await caught(step.do("final", () => Promise.reject(new NonRetryableError("no")))),
      await caught(step.do("built in", once, () => Promise.reject(new RangeError("too far")))),
      await caught(step.waitForEvent("event", { type: "never", timeout: 20 })),
    ]
  }
}

class ThrownText extends WorkflowEntrypoint {
  async run() {
    throw "just text"
  }
}

export const nonRetryable: Feature = {
  title: "NonRetryableError and errors of the workflow",
  programs: [
    program("a NonRetryableError with a name of its own", { NamedNonRetryable }),
    program("workflow code catches a NonRetryableError and goes on", { CaughtNonRetryable }),
    program("a message that begins with NonRetryableError is not tried again", { MarkedByMessage }),
    program("an error of the name NonRetryableError is not tried again", { MarkedByName }),
    program("a NonRetryableError outside of a step", { ThrownByTheWorkflow }),
    program("an error outside of a step", { PlainErrorOfTheWorkflow }),
    program("an error of a class of the program", { OwnErrorClass }),
    program("a text that is thrown", { ThrownText }),
    program("the name and the message of an error that the workflow catches", { NamesOfErrors }, async ({ start }) => {
      const { output } = await ended(await start())
      return { caught: output }
    }),
  ],
}
