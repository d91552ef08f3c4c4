/** Turns programs into workflows, with handlers for queries, updates and events. */
import { workflow, type AnyWorkflow, type Context } from "perdure"
import { Code, nameOf, type Surroundings } from "./code.ts"
import type { Trace } from "./ledger.ts"
import { keyOf, type Definition, type Flow, type Input, type Step } from "./program.ts"

export const cleanUpStep = "clean-up"
/** The event type that has a handler, and that no code waits for. */
export const handledEvent = "blue"

const handlerStep: Step = { kind: "step", label: "handle", name: "handle", fails: 0, attemptsMax: 3, latencyMs: 100 }
const updateStep: Step = { kind: "step", label: "update", name: "update", fails: 1, attemptsMax: 3, latencyMs: 0 }

/** The workflows of all definitions, so that each can start the others. */
export function workflowsOf(definitions: readonly Definition[], surroundings: Omit<Surroundings, "workflow">): readonly AnyWorkflow[] {
  const workflows = new Map<string, AnyWorkflow>()
  const world: Surroundings = { ...surroundings, workflow: (name) => workflows.get(name)! }
  for (const definition of definitions) workflows.set(definition.name, workflowOf(definition, world))
  return [...workflows.values()]
}

function workflowOf({ name, programs, flow, rollbackPolicy }: Definition, surroundings: Surroundings): AnyWorkflow {
  const options = { ...(flow ? optionsOf(flow) : {}), ...(rollbackPolicy ? { rollbackPolicy } : {}) }
  return workflow(name, options, async (ctx: Context<Record<string, string>>, input: Input | undefined) => {
    const index = input?.program ?? 0
    const { id, run } = ctx.instance
    const trace = surroundings.ledger.begin(id, run, surroundings.worker(), surroundings.loaded(id))
    const code = new Code(surroundings, trace, ctx, undefined)
    answer(ctx, code, trace)
    let outcome: { readonly result: unknown } | { readonly error: string }
    try {
      outcome = { result: await code.run(programs[index]!) }
    } catch (error) {
      outcome = { error: nameOf(error) }
    }
    if (ctx.signal.aborted) await code.run({ kind: "step", label: cleanUpStep, name: cleanUpStep, fails: 0, attemptsMax: 1, latencyMs: surroundings.cleanUpMs })
    else trace.isThrough = true
    if ("error" in outcome) throw new Error(outcome.error)
    if (!ctx.signal.aborted && index + 1 < programs.length) await ctx.continueAsNew({ ...input, program: index + 1 })
    return outcome.result
  })
}

function optionsOf({ limits, rate }: Flow) {
  return {
    concurrency: limits.map(({ limit, isKeyed, hold }) => ({ limit, hold, ...(isKeyed ? { key: keyOf } : {}) })),
    priority: (input: Input | undefined) => input?.priority ?? 0,
    ...(rate ? { rateLimit: rate } : {}),
  }
}

/** Handlers see updates and events in the order of the journal. */
function answer(ctx: Context<Record<string, string>>, code: Code, trace: Trace): void {
  ctx.onEvent(handledEvent, (payload) => {
    trace.seen.push({ id: `on:${handledEvent}`, outcome: payload })
    // A cancel rejects the step. This must not end the run before its clean-up.
    return code.run(handlerStep).catch(() => undefined)
  })
  ctx.setQueryHandler("seen", () => trace.seen.map(({ id }) => id))
  const validate = (arg: string) => {
    if (arg.startsWith("bad")) throw new Error(`refused:${arg}`)
  }
  ctx.setUpdateHandler("do", { validate }, async (arg: string) => {
    trace.seen.push({ id: `update:${arg}`, outcome: "accepted" })
    await code.run(updateStep)
    return `done:${arg}`
  })
}
