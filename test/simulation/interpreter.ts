/** Programs as workflows of the engine: deterministic code that asks through its context, and tells the ledger what it sees. */
import { PerdureError, workflow, type AnyWorkflow, type Context, type StepContext } from "perdure"
import type { Ledger, Trace } from "./ledger.ts"
import type { Parallel, Program, SimulatedInstance, Step } from "./program.ts"

export interface Surroundings {
  readonly ledger: Ledger
  /** Names the process that executes. */
  readonly worker: () => string
  /** Up to which position the process has read the journal for this execution. */
  readonly loaded: (id: string) => number
  readonly cleanUpMs: number
  /** Virtual time that passes in this process. */
  readonly pass: (ms: number) => Promise<void>
}

export const cleanUpStep = "clean-up"

export function workflowOf({ id, program }: SimulatedInstance, surroundings: Surroundings): AnyWorkflow {
  return workflow(`program-${id}`, async (ctx) => {
    const trace = surroundings.ledger.begin(ctx.instance.id, ctx.instance.run, surroundings.worker(), surroundings.loaded(ctx.instance.id))
    const code = new Code(surroundings, trace, ctx, undefined)
    let outcome: { readonly result: unknown } | { readonly error: string }
    try {
      outcome = { result: await code.run(program) }
    } catch (error) {
      outcome = { error: nameOf(error) }
    }
    if (ctx.signal.aborted) await code.run({ kind: "step", label: cleanUpStep, name: cleanUpStep, fails: 0, attemptsMax: 1, latencyMs: surroundings.cleanUpMs })
    else trace.isThrough = true
    if ("error" in outcome) throw new Error(outcome.error)
    return outcome.result
  })
}

/** Code outside steps, or the function of one step. */
class Code {
  readonly #surroundings: Surroundings
  readonly #trace: Trace
  readonly #asks: Pick<Context, "do" | "sleep" | "waitForEvent">
  readonly #parent: string | undefined
  readonly #occurrences = new Map<string, number>()

  constructor(surroundings: Surroundings, trace: Trace, asks: Pick<Context, "do" | "sleep" | "waitForEvent">, parent: string | undefined) {
    this.#surroundings = surroundings
    this.#trace = trace
    this.#asks = asks
    this.#parent = parent
  }

  async run(node: Program): Promise<unknown> {
    switch (node.kind) {
      case "step":
        return this.#step(node)
      case "sleep":
        return this.#observed(this.#id(node.label), this.#asks.sleep(node.label, node.ms)).then(() => node.label)
      case "wait": {
        const { label, event, timeoutMs, fallback } = node
        const options = { type: event, ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }), ...(fallback === undefined ? {} : { default: fallback }) }
        return this.#observed(this.#id(label), this.#asks.waitForEvent(label, options as { type: string }))
      }
      case "seq": {
        const results: unknown[] = []
        for (const inner of node.nodes) results.push(await this.run(inner))
        return results
      }
      case "try":
        try {
          return { tried: await this.run(node.body) }
        } catch (error) {
          return { caught: nameOf(error), handled: await this.run(node.handler) }
        }
      default:
        return this.#parallel(node)
    }
  }

  async #parallel({ kind, branches }: Parallel): Promise<unknown> {
    const running = branches.map((branch) => this.run(branch))
    if (kind === "all") return Promise.all(running)
    if (kind === "race") return Promise.race(running.map(async (branch, index) => [index, await branch]))
    if (kind === "any") return Promise.any(running.map(async (branch, index) => [index, await branch]))
    const settled = await Promise.allSettled(running)
    return settled.map((branch) => (branch.status === "fulfilled" ? { ok: branch.value } : { error: nameOf(branch.reason) }))
  }

  #step(node: Step): Promise<unknown> {
    const { label, name, attemptsMax, latencyMs, inner } = node
    const id = this.#id(name)
    const seen = this.#trace.seen.length
    const begin = ({ attempt, idempotencyKey: key }: StepContext) =>
      this.#surroundings.ledger.call({ trace: this.#trace, id, label, key, attempt, seen, hasInner: inner !== undefined })
    const end = (key: string) => {
      if (this.#surroundings.ledger.throws(key, node.fails >= attemptsMax ? Infinity : node.fails)) throw new Error(`boom ${label}`)
    }
    const quick = (context: StepContext): unknown => {
      begin(context)
      end(context.idempotencyKey)
      return label
    }
    const slow = async (context: StepContext): Promise<unknown> => {
      begin(context)
      if (latencyMs > 0) await this.#surroundings.pass(latencyMs)
      const result = inner && (await this.#inside(id, label, inner, context))
      end(context.idempotencyKey)
      return inner ? [label, result] : label
    }
    const retry = { maxAttempts: attemptsMax, initialInterval: 200, jitter: 0 }
    return this.#observed(id, this.#asks.do<unknown>(name, latencyMs > 0 || inner ? slow : quick, { retry }))
  }

  async #inside(id: string, label: string, inner: Program, context: StepContext): Promise<unknown> {
    try {
      return await new Code(this.#surroundings, this.#trace, context.step, id).run(inner)
    } catch {
      throw new Error(`boom ${label}`)
    }
  }

  /** The id that the engine is to give it: name and occurrence in call order. */
  #id(name: string): string {
    const occurrence = (this.#occurrences.get(name) ?? 0) + 1
    this.#occurrences.set(name, occurrence)
    const own = occurrence === 1 ? name : `${name}#${occurrence}`
    return this.#parent === undefined ? own : `${this.#parent}/${own}`
  }

  #observed(id: string, asked: Promise<unknown>): Promise<unknown> {
    const see = (outcome: string) => {
      if (this.#parent === undefined) this.#trace.seen.push({ id, outcome })
      else this.#surroundings.ledger.seeNested(this.#trace, id, outcome)
    }
    return asked.then(
      (value) => {
        see(JSON.stringify(value) ?? "undefined")
        return value
      },
      (error: unknown) => {
        see(nameOf(error))
        throw error
      },
    )
  }
}

/** Errors by the names that the reference model gives them. */
function nameOf(error: unknown): string {
  if (PerdureError.is(error, "STEP_FAILED")) return `failed:${error.cause instanceof Error ? error.cause.message : String(error.cause)}`
  if (PerdureError.is(error, "EVENT_TIMEOUT")) return `timeout:${String(error.details["step"])}`
  if (PerdureError.is(error, "CANCELLED")) return "cancelled"
  if (error instanceof AggregateError) return "aggregate"
  return `unexpected:${String(error)}`
}
