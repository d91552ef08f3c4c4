import { PerdureError } from "../core/errors.ts"
import { SerialQueue } from "../core/collections/serial-queue.ts"
import type { Store } from "../ports/store.ts"
import type { EngineComponents, EngineSpec, WorkerComponents } from "./engine-components.ts"
import { overriding } from "./method-overrides.ts"
import type { EngineOptions } from "./settings.ts"
import type { Worker } from "./worker/worker.ts"
import type { WorkflowRegistry } from "./workflow-registry.ts"

/** Bounds of one `tick`. */
export interface TickOptions {
  /** How many instances the tick may work on. Default: all that are due. */
  readonly maxInstances?: number
  /** How many attempts of steps the tick may begin. Default: any number. */
  readonly maxSteps?: number
}

/** What a `tick` did. */
export interface TickResult {
  /** How many instances the tick worked on. */
  readonly processed: number
  /** When the next instance or schedule is due, in milliseconds since 1970; it may be in the past. Absent: nothing is, before somebody starts or sends something. */
  readonly nextDueAt?: number
  /**
   * The tick made progress, and something is due already, because the tick had bounds or something came meanwhile: tick again at once. If the tick could not
   * work on what is due, as when another process works on it, this is false, and the next planned tick looks again.
   */
  readonly more: boolean
}

/** The engine that is opened for one tick. */
interface TickEngine {
  readonly components: EngineComponents
  close(): Promise<void>
  kill(): void
}

const quietMacrotasks = 3
/** So many tasks whose time is over are ended at once. */
const expireMax = 500

/**
 * Executes in ticks, for a process that a scheduler wakes up from time to time. Each tick opens a worker of its own, with a lease of its own, on the
 * open store. The worker claims the due instances, continues until nothing more happens without time passing, and then releases all instances. So ticks of
 * several processes share the work as workers do. Ticks of one process run one after the other.
 */
export class Ticks {
  readonly #spec: EngineSpec
  readonly #store: Store
  /** The worker of the engine that callers use. It passes hints of their writes on to the worker of the tick. */
  readonly #worker: Worker
  readonly #registry: WorkflowRegistry
  readonly #open: (spec: EngineSpec) => Promise<TickEngine>
  readonly #ticks = new SerialQueue()
  #current: TickEngine | undefined
  #isStopped = false
  /** Ends the current wait for running attempts. */
  #stopWaiting: () => void = () => undefined

  constructor(spec: EngineSpec, { store, worker, registry }: WorkerComponents, open: (spec: EngineSpec) => Promise<TickEngine>) {
    this.#spec = spec
    this.#registry = registry
    this.#store = store
    this.#worker = worker
    this.#open = open
  }

  tick({ maxInstances, maxSteps }: TickOptions): Promise<TickResult> {
    checkCount("maxInstances", maxInstances)
    checkCount("maxSteps", maxSteps)
    return this.#ticks.do(() => this.#run({ instancesMax: maxInstances ?? Infinity, stepsMax: maxSteps ?? Infinity }))
  }

  /** Ends the current tick early, and resolves when it has released its instances. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopWaiting()
    await this.#ticks.whenOver()
  }

  kill(): void {
    this.#isStopped = true
    this.#stopWaiting()
    this.#current?.kill()
  }

  async #run(budget: { readonly instancesMax: number; readonly stepsMax: number }): Promise<TickResult> {
    if (this.#isStopped || (this.#store.role !== "worker" && (await this.#store.standBy()) !== "worker")) return this.#result(0)
    // The ends of these tasks are messages, which the tick takes in.
    await this.#store.tasks?.expire(expireMax)
    const store = { name: this.#spec.store.name, open: async () => Promise.resolve(withoutClose(this.#store)) }
    const engine = await this.#open({ ...this.#spec, store, options: tickOptions(this.#spec.options), budget })
    this.#current = engine
    this.#worker.tick = engine.components.worker
    try {
      await this.#whenQuiet(engine.components)
    } finally {
      this.#worker.tick = undefined
      await engine.close()
      this.#current = undefined
    }
    const processed = engine.components.worker.residents.admittedCount
    return this.#result(processed).catch((error: unknown) => {
      if (processed === 0) throw error
      // The caller must learn what was done. The next tick reports the failure if it lasts.
      return { processed, more: true }
    })
  }

  async #result(processed: number): Promise<TickResult> {
    const { journal, schedules, tasks } = this.#store
    const { nextAt: taskAt = Infinity } = (await tasks?.expire(expireMax)) ?? {}
    const [instanceAt = Infinity, scheduleAt = Infinity] = await Promise.all([
      journal.nextDueAt(this.#registry.offers),
      schedules.nextDueAt(this.#registry.names),
    ])
    const nextDueAt = Math.min(instanceAt, scheduleAt, taskAt, await this.#leaseEndsAt())
    return nextDueAt === Infinity ? { processed, more: false } : { processed, nextDueAt, more: processed > 0 && nextDueAt <= this.#spec.host.now() }
  }

  /** When the lease of another worker ends that executes these workflows: the worker may have died in the middle of its tick, with instances. */
  async #leaseEndsAt(): Promise<number> {
    // A store with one worker process at a time knows whether that process is alive.
    if (this.#store.hasWorker) return Infinity
    const mine = new Set(this.#registry.names)
    const others = (await this.#store.directory.workers()).filter(({ offers = [] }) => offers.some(({ workflow }) => mine.has(workflow)))
    return Math.min(...others.map(({ until }) => until))
  }

  async #whenQuiet(components: EngineComponents): Promise<void> {
    const { host, worker, taskWorker } = components
    for (let quiet = 0; quiet < quietMacrotasks && !this.#isStopped;) {
      await new Promise<void>((resolve) => host.quiesce(resolve))
      quiet = isQuiet(components) ? quiet + 1 : 0
      const { stepSlots } = worker
      if (stepSlots?.running && !this.#isStopped) await new Promise<void>((resolve) => (stepSlots.onReleased = this.#stopWaiting = resolve))
      if (taskWorker?.isRunning && !this.#isStopped) await Promise.race([taskWorker.whenIdle(), new Promise<void>((resolve) => (this.#stopWaiting = resolve))])
    }
  }
}

/** Nothing more happens without time passing. Attempts may be left that found no budget, or that wait for nested sleeps and waits. */
function isQuiet({ worker, scheduler, taskWorker }: EngineComponents): boolean {
  if (!worker.idle || !scheduler.idle || taskWorker?.isIdle === false || worker.stepSlots?.running) return false
  return [...worker.residents.values()].every((runner) => runner.isAtRest || runner.attempts > 0)
}

/** Without the hooks of the store: the engine that callers use calls them, and its store is the store of the tick. */
function tickOptions({ onStoreGone: _gone, onEnqueued: _enqueued, ...options }: EngineOptions): EngineOptions {
  return { ...options, execute: "always" }
}

/** The store stays open after the tick: the engine that callers use closes it. */
function withoutClose(store: Store): Store {
  return overriding(store, { close: async () => Promise.resolve() })
}

function checkCount(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) return
  throw new PerdureError("BAD_OPTION", `${name} is ${String(value)}; give a whole number from 1 on`, { details: { option: name } })
}
