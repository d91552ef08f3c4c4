import type { Context } from "../../core/workflow/context.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"

/** Watches the workflow code of a simulation for steps, sleeps and waits whose promises the code never awaits. */
export class WatchedAsks {
  readonly #unawaited = new Set<string>()
  readonly #byOriginal = new Map<AnyWorkflow, AnyWorkflow>()

  /** Returns the workflow with a context that notes each ask. */
  watch(workflow: AnyWorkflow): AnyWorkflow {
    const known = this.#byOriginal.get(workflow)
    if (known) return known
    const watched: AnyWorkflow = { ...workflow, run: (ctx, input) => this.#run(workflow, ctx, input) }
    this.#byOriginal.set(workflow, watched)
    return watched
  }

  /** The asks that the code never awaited, in words. */
  get unawaited(): readonly string[] {
    return [...this.#unawaited]
  }

  async #run(workflow: AnyWorkflow, ctx: Context, input: unknown): Promise<unknown> {
    const asked: Watched[] = []
    const watched = new Proxy(ctx, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target)
        if (typeof member !== "function") return member
        const call = (...args: readonly unknown[]): unknown => Reflect.apply(member, target, args) as unknown
        if (!asks.has(name)) return call
        return (first: unknown, ...rest: readonly unknown[]) => {
          const subject = isWorkflow(first) ? this.watch(first) : first
          const promise = new WatchedPromise(call(subject, ...rest) as Promise<unknown>)
          asked.push({
            what: `ctx.${String(name)}(${typeof first === "function" ? "…" : `${JSON.stringify(isWorkflow(first) ? first.name : first)}, …`})`,
            promise,
          })
          return promise
        }
      },
    })
    try {
      return await workflow.run(watched, input)
    } finally {
      for (const { what, promise } of asked) if (!promise.isWatched) this.#unawaited.add(`${what} of workflow "${workflow.name}"`)
    }
  }
}

interface Watched {
  readonly what: string
  readonly promise: WatchedPromise
}

const asks: ReadonlySet<string | symbol> = new Set([
  "do",
  "transaction",
  "sleep",
  "sleepUntil",
  "waitForEvent",
  "receiveEvent",
  "waitForSignal",
  "condition",
  "startChild",
  "runChild",
])

function isWorkflow(value: unknown): value is AnyWorkflow {
  return typeof value === "object" && value !== null && "run" in value && "name" in value
}

/** Notices whether the code awaits it: `await` and all combinators call `then`, because the class is not Promise itself. */
class WatchedPromise extends Promise<unknown> {
  isWatched = false

  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  constructor(inner: Promise<unknown>) {
    super((resolve, reject) => inner.then(resolve, reject))
    // The simulation reports a promise that is never awaited; its rejection must not end the process before that.
    super.then(undefined, () => undefined)
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise
  override then<A = unknown, B = never>(
    onFulfilled?: ((value: unknown) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isWatched = true
    return super.then(onFulfilled, onRejected)
  }
}
