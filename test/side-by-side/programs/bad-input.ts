import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import { note } from "../notebook.ts"
import { ended, errorText, plain } from "../observation.ts"
import { type Drive, type Feature, program } from "../program.ts"

type Ask = (step: WorkflowStep) => Promise<unknown>

/** Asks one thing after another, and returns what was thrown. */
const tries = (asks: readonly Ask[]) =>
  class extends WorkflowEntrypoint {
    async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
      const outcomes: unknown[] = []
      for (const ask of asks) outcomes.push(await ask(step).then((value) => ({ gave: plain(value) }), errorText))
      return outcomes
    }
  }

const work = async () => "worked"
const withConfig =
  (config: unknown): Ask =>
  (step) =>
    step.do("a", config as { timeout: number }, work)

const onlyEnd: Drive = async ({ start }) => ({ end: await ended(await start()) })

class UncaughtBadConfig extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("before", work)
    await step.do("bad", { timeout: 0 }, async () => note("UncaughtBadConfig", "called"))
  }
}

class StepLimit extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const done: unknown[] = []
    await step.sleep("not counted", 1)
    for (let index = 0; index < 5; index++) done.push(await step.do(`step ${index}`, async () => index).catch(errorText))
    return done
  }
}

class UncaughtStepLimit extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    for (let index = 0; index < 3; index++) await step.do("step", async () => note("UncaughtStepLimit", `step ${index}`))
  }
}

class AttemptsAtTheLimit extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const retries = { limit: 3, delay: 1, backoff: "constant" as const }
    return step.do("many attempts", { retries }, async ({ attempt }) => {
      if (attempt < 4) throw new Error("not yet")
      return attempt
    })
  }
}

export const badInput: Feature = {
  title: "Bad input and limits",
  programs: [
    program("names of steps", {
      StepNames: tries([
        (step) => step.do("a".repeat(256), work),
        (step) => step.do("a".repeat(257), work),
        (step) => step.do("new\nline", work),
        (step) => step.do("ä ☃ #:/", work),
      ]),
    }),
    program("an empty name of a step", { EmptyName: tries([(step) => step.do("", work)]) }, onlyEnd),
    program("a step without a callback", {
      NoCallback: tries([
        (step) => step.do("a", undefined as unknown as () => Promise<void>),
        (step) => step.do("b", {}, undefined as unknown as () => Promise<void>),
        (step) => step.do("c", "text" as unknown as () => Promise<void>),
      ]),
    }),
    program("configs that are none", {
      BadConfigs: tries([
        withConfig({ attempts: 3 }),
        withConfig({ retries: { limit: 1 } }),
        withConfig({ retries: { limit: -1, delay: 1 } }),
        withConfig({ retries: { limit: "1", delay: 1 } }),
        withConfig({ retries: { limit: 1, delay: -1 } }),
        withConfig({ retries: { limit: 1, delay: "soon" } }),
        withConfig({ retries: { limit: 1, delay: 1, backoff: "random" } }),
        withConfig({ retries: { limit: 1, delay: 1, jitter: true } }),
        withConfig({ timeout: 0 }),
        withConfig({ timeout: -1 }),
        withConfig({ timeout: "soon" }),
        withConfig({ sensitive: "input" }),
        withConfig({ sensitive: true }),
      ]),
    }),
    program("configs at the edge", {
      EdgeConfigs: tries([
        withConfig({}),
        withConfig(null),
        withConfig({ retries: { limit: 0, delay: 0 } }),
        withConfig({ retries: { limit: 1.5, delay: "1 day" } }),
        withConfig({ timeout: "1 week" }),
        withConfig({ timeout: "5000" }),
      ]),
    }),
    program(
      "a timeout that is given as undefined",
      { UndefinedTimeout: tries([withConfig({ timeout: undefined, retries: { limit: 0, delay: 1 } })]) },
      onlyEnd,
    ),
    program("a bad config ends the instance", { UncaughtBadConfig }),
    program(
      "durations of sleeps and waits",
      {
        BadDurations: tries([
          (step) => step.sleep("a", "soon" as "1 day"),
          (step) => step.sleep("b", -5),
          (step) => step.sleepUntil("c", NaN),
          (step) => step.waitForEvent("d", { type: "x", timeout: "soon" as "1 day" }),
          (step) => step.waitForEvent("e", { type: "x", timeout: -1 }),
        ]),
      },
      onlyEnd,
    ),
    program("the limit of steps counts calls of do", { StepLimit }, undefined, { stepLimit: 3 }),
    program("the limit of steps ends the instance", { UncaughtStepLimit }, undefined, { stepLimit: 2 }),
    program("attempts do not count towards the limit of steps", { AttemptsAtTheLimit }, async ({ start }) => ({ end: await ended(await start()) }), {
      stepLimit: 1,
    }),
  ],
}
