/** Runs a program as workflow code. The code is deterministic, asks through its context, and tells the ledger which results it sees. */
import { PerdureError, type AnyWorkflow, type Context, type RollbackContext, type StepContext } from "perdure"
import type { Ledger, Trace } from "./ledger.ts"
import { childName, type ChildStart, type Condition, type Cut, type Parallel, type Patch, type Program, type Sleep, type Step, type Wait } from "./program.ts"

export interface Surroundings {
  readonly ledger: Ledger
  /** The name of the executing process. */
  readonly worker: () => string
  /** The position up to which the process has read the journal for this execution. */
  readonly loaded: (id: string) => number
  readonly cleanUpMs: number
  /** Lets virtual time pass in this process. */
  readonly pass: (ms: number) => Promise<void>
  /** Whether the process has the changed code. */
  readonly isPatched: boolean
  readonly workflow: (name: string) => AnyWorkflow
}

type Asks = Pick<Context<Record<string, string>>, "do" | "sleep" | "waitForEvent">

/** Code outside steps, or the function of one step. */
export class Code {
  readonly #surroundings: Surroundings
  readonly #trace: Trace
  readonly #asks: Asks
  readonly #parent: string | undefined
  readonly #occurrences = new Map<string, number>()
  #done = 0

  constructor(surroundings: Surroundings, trace: Trace, asks: Asks, parent: string | undefined) {
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
      case "wait":
        return this.#timer(node, undefined)
      case "condition":
        return this.#condition(node)
      case "cut":
        return this.#cut(node)
      case "child":
        return this.#child(node)
      case "patch":
        return this.#patch(node)
      case "seq": {
        const results: unknown[] = []
        for (const inner of node.nodes) {
          results.push(await this.run(inner))
          // Steps have no memo.
          if (this.#parent === undefined) (this.#asks as Context).setMemo("done", ++this.#done)
        }
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
    return (await Promise.allSettled(running)).map(settled)
  }

  #timer(node: Sleep | Wait, signal: AbortSignal | undefined): Promise<unknown> {
    const given = signal ? { signal } : {}
    if (node.kind === "sleep") return this.#observed(this.#id(node.label), this.#asks.sleep(node.label, node.ms, given)).then(() => node.label)
    const { label, event, timeoutMs, fallback } = node
    const options = {
      ...given,
      type: event,
      ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
      ...(fallback === undefined ? {} : { default: fallback }),
    }
    return this.#observed(this.#id(label), this.#asks.waitForEvent(label, options as { type: string }))
  }

  #condition({ label, seen, timeoutMs }: Condition): Promise<unknown> {
    const ctx = this.#asks as Context
    return this.#observed(
      this.#id(label),
      ctx.condition(() => this.#trace.seen.length >= seen, { name: label, timeout: timeoutMs }),
    )
  }

  async #cut({ timer, after }: Cut): Promise<unknown> {
    const abort = new AbortController()
    const running = Promise.allSettled([this.#timer(timer, abort.signal)])
    const result = await this.run(after)
    abort.abort(new Named("cut"))
    return [result, ...(await running).map(settled)]
  }

  async #patch({ label, changed, before }: Patch): Promise<unknown> {
    const isPatched = this.#surroundings.isPatched && (this.#asks as Context).patched(label)
    return { patched: isPatched, value: await this.run(isPatched ? changed : before) }
  }

  async #child(node: ChildStart): Promise<unknown> {
    const ctx = this.#asks as Context<Record<string, string>>
    const { ledger, workflow } = this.#surroundings
    const definition = workflow(childName(ctx.instance.workflow, node.label))
    const id = this.#id(definition.name)
    const starting = ctx.startChild(definition, { onParentEnd: node.onParentEnd })
    await this.#observed(
      id,
      starting.then(() => node.label),
    )
    const child = await starting
    const ending = Promise.allSettled([
      this.#observed(
        `child:${id}`,
        child.result().catch((error: unknown) => {
          throw new Named(childErrorName(error, child.id))
        }),
      ),
    ])
    if (node.event) {
      const { type, payload } = node.event
      ledger.sendToChild(child.id, node.event)
      await this.#observed(this.#id(`${child.id} ${type}`), child.sendEvent(type, payload)).catch((error: unknown) => {
        // The instance may have ended by then.
        if (!PerdureError.is(error, "INSTANCE_ENDED")) throw error
      })
    }
    if (node.fate === "leave") return node.label
    if (node.fate === "cancel") await this.#observed(this.#id(`${child.id} cancel`), child.cancel("unwanted"))
    const [ended] = await ending
    if (node.fate === "cancel") return { cancelled: settled(ended) }
    if (ended.status === "rejected") throw ended.reason
    return { child: ended.value }
  }

  #step(node: Step): Promise<unknown> {
    const { label, name, attemptsMax, latencyMs, inner, timeoutMs, hangs = 0, undo } = node
    const { ledger, pass } = this.#surroundings
    const id = this.#id(name)
    const seen = this.#trace.seen.length
    const isLeaf = latencyMs === 0 && inner === undefined && hangs === 0
    const begin = ({ attempt, idempotencyKey: key }: StepContext, called = id) =>
      ledger.call({
        trace: this.#trace,
        id: called,
        label: called === id ? label : `undo ${label}`,
        key,
        attempt,
        seen,
        hasInner: called === id && inner !== undefined,
      })
    const end = (key: string) => {
      if (ledger.throws(key, always(node.fails, attemptsMax))) throw new Error(`boom ${label}`)
    }
    const quick = (context: StepContext): unknown => {
      begin(context)
      end(context.idempotencyKey)
      return label
    }
    const slow = async (context: StepContext): Promise<unknown> => {
      begin(context)
      if (ledger.throws(`hangs ${context.idempotencyKey}`, always(hangs, attemptsMax))) await new Promise(() => undefined)
      if (latencyMs > 0) await pass(latencyMs)
      const result = inner && (await this.#inside(id, label, inner, context))
      end(context.idempotencyKey)
      return inner ? [label, result] : label
    }
    const rollback = undo && {
      retry: retryOf(undo),
      run: async (result: unknown, context: RollbackContext) => {
        begin(context, `${id}#rollback`)
        ledger.undo(this.#trace, id, result, context.attempts)
        if (undo.latencyMs > 0) await pass(undo.latencyMs)
        if (ledger.throws(context.idempotencyKey, always(undo.fails, undo.attemptsMax))) throw new Error(`boom undo ${label}`)
      },
    }
    if (undo) ledger.undoable(this.#trace.instance, this.#trace.run, id)
    const options = { retry: retryOf(node), ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }), ...(rollback ? { rollback } : {}) }
    return this.#observed(id, this.#asks.do<unknown>(name, isLeaf ? quick : slow, options))
  }

  async #inside(id: string, label: string, inner: Program, context: StepContext): Promise<unknown> {
    try {
      return await new Code(this.#surroundings, this.#trace, context.step as Asks, id).run(inner)
    } catch {
      throw new Error(`boom ${label}`)
    }
  }

  /** The step id that the engine has to assign: name and occurrence in call order. */
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
        // The code does not note what it aborts itself.
        if (!(error instanceof Named && error.message === "cut")) see(nameOf(error))
        throw error
      },
    )
  }
}

function retryOf({ attemptsMax }: Step) {
  return { maxAttempts: attemptsMax, initialInterval: 200, jitter: 0 }
}

/** A step that fails in all its attempts fails always, also if a crash interrupts an attempt. */
function always(times: number, attemptsMax: number): number {
  return times >= attemptsMax ? Infinity : times
}

function settled(branch: PromiseSettledResult<unknown>): unknown {
  return branch.status === "fulfilled" ? { ok: branch.value } : { error: nameOf(branch.reason) }
}

/** An error that has its name already. */
class Named extends Error {}

function childErrorName(error: unknown, child: string): string {
  // The instance itself is cancelled, and not the child.
  if (PerdureError.is(error, "CANCELLED")) return "cancelled"
  if (!PerdureError.is(error, "CHILD_FAILED") || error.details["child"] !== child) return `unexpected:${String(error)}`
  const { cause } = error
  if (PerdureError.is(cause, "TERMINATED")) return "child terminated"
  if (PerdureError.is(cause, "CANCELLED")) return "child cancelled"
  return cause instanceof Error && !PerdureError.is(cause) ? `child:${cause.message}` : `unexpected:${String(cause)}`
}

/** Errors by the names that the reference model gives them. */
export function nameOf(error: unknown): string {
  if (error instanceof Named) return error.message
  if (PerdureError.is(error, "STEP_FAILED")) {
    if (PerdureError.is(error.cause, "STEP_TIMEOUT")) return `failed:timeout ${String(error.details["step"])}`
    return `failed:${error.cause instanceof Error ? error.cause.message : String(error.cause)}`
  }
  if (PerdureError.is(error, "EVENT_TIMEOUT")) return `timeout:${String(error.details["step"])}`
  // A nested wait of a step is aborted when the run is rolled back.
  if (PerdureError.is(error, "CANCELLED") || (PerdureError.is(error, "INSTANCE_ENDED") && error.message.endsWith("is rolled back"))) return "cancelled"
  if (error instanceof AggregateError) return "aggregate"
  return `unexpected:${String(error)}`
}
