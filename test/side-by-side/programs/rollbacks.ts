import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import { NonRetryableError } from "cloudflare:workflows"
import { note } from "../notebook.ts"
import { ended, errorText, happens, plain, report, until } from "../observation.ts"
import { type Feature, program } from "../program.ts"

const once = { retries: { limit: 0, delay: 1 } }

class RollbackOrder extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    for (const name of ["a", "b", "c"])
      await step.do(name, async () => name.toUpperCase(), { rollback: async ({ output, stepName }) => note("RollbackOrder", `undo ${stepName} ${output}`) })
    throw new Error("too bad")
  }
}

class RollbackOfAFailedStep extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("reserve", async () => "reserved", { rollback: async ({ output }) => note("RollbackOfAFailedStep", `release ${String(output)}`) })
    await step.do("charge", once, async () => Promise.reject(new RangeError("declined")), {
      rollback: async ({ output, error }) => note("RollbackOfAFailedStep", `refund ${String(output)} after ${errorText(error)}`),
    })
  }
}

class RollbackContext extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const flaky = async ({ attempt }: { attempt: number }) => {
      if (attempt === 1) throw new Error("not yet")
      return { amount: 5 }
    }
    await step.do("pay", { retries: { limit: 1, delay: 10, backoff: "constant" } }, flaky, {
      rollback: async (context) => note("RollbackContext", JSON.stringify(plain({ ...context, error: errorText(context.error) }))),
    })
    throw new TypeError("later")
  }
}

class RollbackFails extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("a", async () => 1, { rollback: async () => note("RollbackFails", "undo a") })
    await step.do("b", async () => 2, {
      rollback: async () => {
        note("RollbackFails", "undo b")
        throw new Error("cannot be undone")
      },
      rollbackConfig: once,
    })
    await step.do("c", async () => 3, { rollback: async () => note("RollbackFails", "undo c") })
    throw new Error("too bad")
  }
}

class RollbackRetried extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    let tries = 0
    await step.do("a", async () => 1, {
      rollback: async () => {
        note("RollbackRetried", `try ${++tries}`)
        if (tries < 3) throw new Error("not yet")
      },
      rollbackConfig: { retries: { limit: 3, delay: 10, backoff: "constant" } },
    })
    throw new Error("too bad")
  }
}

class RollbackNonRetryable extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("a", async () => 1, {
      rollback: async () => {
        note("RollbackNonRetryable", "tried")
        throw new NonRetryableError("never")
      },
    })
    throw new Error("too bad")
  }
}

class RollbackTimeout extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("a", async () => 1, { rollback: () => new Promise(() => undefined), rollbackConfig: { ...once, timeout: 50 } })
    throw new Error("too bad")
  }
}

class RollbackNotNeeded extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const rollback = async () => note("RollbackNotNeeded", "undone")
    const kept = await step.do("a", async () => "kept", { rollback })
    const caught = await step.do("b", once, async () => Promise.reject(new Error("no")), { rollback }).catch(errorText)
    return [kept, caught]
  }
}

class RollbackAfterNonRetryable extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("a", async () => 1, { rollback: async ({ error }) => note("RollbackAfterNonRetryable", `undo a after ${errorText(error)}`) })
    await step.do("b", async () => Promise.reject(new NonRetryableError("final")), {
      rollback: async ({ error }) => note("RollbackAfterNonRetryable", `undo b after ${errorText(error)}`),
    })
  }
}

class RollbackOfSameNames extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    for (let round = 0; round < 3; round++)
      await step.do("item", async () => round, {
        rollback: async ({ ctx, output }) => note("RollbackOfSameNames", `undo ${ctx.step.name} ${ctx.step.count}: ${output}`),
      })
    throw new Error("too bad")
  }
}

class RollbackBeforeSleepsAndWaits extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("a", async () => 1, { rollback: async () => note("RollbackBeforeSleepsAndWaits", "undo a") })
    await step.sleep("rest", 10)
    await step.waitForEvent("nothing", { type: "never", timeout: 30 })
  }
}

class TerminatedWithRollback extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    for (const name of ["a", "b"])
      await step.do(name, async () => name, {
        rollback: async ({ error }) => note("TerminatedWithRollback", `undo ${name} after ${errorText(error)}`),
      })
    note("TerminatedWithRollback", "waits")
    await step.waitForEvent("for ever", { type: "never" })
  }
}

class TerminatedWithoutRollback extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("a", async () => 1, { rollback: async () => note("TerminatedWithoutRollback", "undo a") })
    await step.waitForEvent("for ever", { type: "never" })
  }
}

class StepInARollback extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("a", async () => 1, {
      rollback: async () => {
        const done = await step.do("in the rollback", async () => "done").catch(() => "refused")
        const waited = await step.waitForEvent("in the rollback", { type: "go" }).catch(() => "refused")
        note("StepInARollback", `${done}, ${JSON.stringify(waited)}`)
      },
      rollbackConfig: once,
    })
    throw new Error("too bad")
  }
}

class RollbackOptionsThatAreNone extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const tried = (options: unknown) => step.do("a", async () => 1, options as { rollback: () => Promise<void> }).catch(errorText)
    const rollback = async () => undefined
    return [
      await tried("undo"),
      await tried([]),
      await tried({}),
      await tried({ rollback: "undo" }),
      await tried({ rollback, rollbackConfig: { attempts: 3 } }),
      await tried({ rollback, rollbackConfig: { timeout: 0 } }),
    ]
  }
}

class RollbackOutcome extends WorkflowEntrypoint<unknown, { fails: boolean }> {
  async run({ payload }: WorkflowEvent<{ fails: boolean }>, step: WorkflowStep) {
    const rollback = async () => {
      if (payload.fails) throw new Error("cannot be undone")
    }
    await step.do("a", async () => 1, { rollback, rollbackConfig: once })
    throw new Error("too bad")
  }
}

export const rollbacks: Feature = {
  title: "Rollback",
  programs: [
    program("steps are undone, the newest first", { RollbackOrder }),
    program("the step that failed is undone, too, without an output", { RollbackOfAFailedStep }),
    program("a rollback is given the step, the output and the error", { RollbackContext }),
    program("a rollback that fails ends the rollbacks", { RollbackFails }),
    program("a rollback is tried again as its config says", { RollbackRetried }),
    program("a NonRetryableError ends a rollback", { RollbackNonRetryable }),
    program("a rollback that takes too long fails", { RollbackTimeout }),
    program("nothing is undone of an instance that completes", { RollbackNotNeeded }),
    program("a NonRetryableError begins the rollbacks", { RollbackAfterNonRetryable }),
    program("steps of one name are undone each with its output", { RollbackOfSameNames }),
    program("sleeps and waits are passed over", { RollbackBeforeSleepsAndWaits }),
    program("terminate with rollback undoes the steps", { TerminatedWithRollback }, async ({ start, notes }) => {
      const instance = await start()
      await until(() => notes().includes("waits"))
      await happens(instance, "wait_started")
      await instance.terminate({ rollback: true })
      return report(instance)
    }),
    program("terminate without rollback undoes nothing", { TerminatedWithoutRollback }, async ({ start }) => {
      const instance = await start()
      await happens(instance, "wait_started")
      await instance.terminate()
      return report(instance)
    }),
    program("a rollback asks for no steps", { StepInARollback }),
    program("rollback options that are none", { RollbackOptionsThatAreNone }),
    program("the status tells how the rollbacks ended", { RollbackOutcome }, async ({ start }) => {
      const outcomes: unknown[] = []
      for (const fails of [false, true]) {
        const instance = await start({ params: { fails } })
        await ended(instance)
        outcomes.push(plain((await instance.status()).rollback))
      }
      return { outcomes }
    }),
  ],
}
