/**
 * Simulates activities in other processes: workflows ask for activities of a task queue, processes that offer them die, freeze and lose calls, and callers
 * cancel, terminate and restart instances. One workflow's results say which call of a function produced them, so that a result that does not belong to the
 * last recorded attempt is noticed.
 */
import { defineActivity, workflow, type AnyActivity, type AnyWorkflow, type Context } from "perdure"
import { memory } from "perdure/testing"
import { SeededRandom } from "../../src/core/execution/seeded-random.ts"
import { Engine } from "../../src/engine/engine.ts"
import { macrotask, SimulatedHost } from "../../src/hosts/simulated/simulated-host.ts"
import type { StoreProvider } from "../../src/ports/store.ts"
import type { Fault, FaultSource, StoreOperation } from "../../src/testing/faulty-store.ts"
import { SimulatedProcess } from "../../src/testing/simulation/simulated-process.ts"
import { leaseMs, options } from "./settings.ts"
import { Statistics } from "./statistics.ts"

const queue = "far"
const troubleMs = 40_000
const endMs = 400_000
const macrotasksMax = 20_000

export interface TaskSimulationSpec {
  readonly seed: number
  /** Plants a fault below the processes. */
  readonly plant?: (inner: StoreProvider) => StoreProvider
}

/** What a call of the activity returns. */
interface Receipt {
  readonly attempt: number
  readonly call: number
}

/** Faults of calls about tasks, and of the calls that every process makes. */
class TaskFaults implements FaultSource {
  isQuiet = false
  readonly #random: SeededRandom
  readonly #statistics: Statistics

  constructor(random: SeededRandom, statistics: Statistics) {
    this.#random = random
    this.#statistics = statistics
  }

  next(operation: StoreOperation): Fault | undefined {
    const isFaulty = operation.startsWith("tasks.") || operation === "commit" || operation === "claim"
    if (!isFaulty || this.isQuiet || this.#random.next() > 0.12) return undefined
    const when = this.#random.next() < 0.5 ? "before" : "after"
    const kind = this.#random.next() < 0.5 ? "error" : "delay"
    this.#statistics.count(`${operation} ${kind} ${when}`)
    return kind === "error" ? { kind, when } : { kind, when, ms: Math.floor(this.#random.next() * 2 * leaseMs) }
  }

  isHintLost(): boolean {
    return !this.isQuiet && this.#random.next() < 0.3
  }
}

class TaskSimulation {
  readonly violations: string[] = []
  readonly statistics = new Statistics()
  readonly host: SimulatedHost
  readonly #random: SeededRandom
  readonly #faults: TaskFaults
  readonly #store: StoreProvider
  readonly #base = memory()
  readonly #processes: (SimulatedProcess | undefined)[] = []
  readonly #calls = new Set<string>()
  readonly #beganAt: number
  #callCount = 0
  #activity = 0

  constructor({ seed, plant }: TaskSimulationSpec) {
    this.host = new SimulatedHost({ seed: `tasks ${seed} host` })
    this.#beganAt = this.host.now()
    this.#random = new SeededRandom(`tasks ${seed}`)
    this.#faults = new TaskFaults(new SeededRandom(`tasks ${seed} faults`), this.statistics)
    this.#store = plant ? plant(this.#base) : this.#base
  }

  async run(): Promise<void> {
    const caller = await Engine.open({ host: this.host, store: this.#store, workflows: [], options, role: "client" })
    for (let slot = 0; slot < 4; slot++) void this.#open(slot)
    const ids = Array.from({ length: 2 + this.#upTo(4) }, (_, index) => `i${index}`)
    for (const id of ids) this.#at(this.#upTo(5_000), () => caller.start("job", { id, input: 1 + this.#upTo(4), version: "1", allowUnknown: true }))
    for (const id of ids) if (this.#happens(0.5)) this.#at(this.#upTo(20_000), () => this.#act(caller, id))
    for (let count = this.#upTo(6); count > 0; count--) this.#at(this.#upTo(troubleMs), () => this.#disturb())
    this.#at(troubleMs, () => (this.#faults.isQuiet = true))
    await this.#untilEnded(caller, ids)
    for (const id of ids) await this.#judge(caller, id)
    await this.#endEarly(caller)
    for (const { queue: name, waiting, claimed } of (await caller.components.store.tasks?.depths()) ?? [])
      this.violations.push(`queue ${name} still has ${waiting} waiting and ${claimed} claimed tasks`)
  }

  /** Terminates an instance whose activities wait or run. Their tasks must end with it, at once. */
  async #endEarly(caller: Engine): Promise<void> {
    await caller.start("job", { id: "early", input: 3, version: "1", allowUnknown: true })
    await this.host.advanceTo(this.host.now() + 2_000, () => this.#settle())
    await caller.terminate("early")
    await this.#settle()
  }

  async #untilEnded(caller: Engine, ids: readonly string[]): Promise<void> {
    const isOver = async () => {
      const { instances } = await caller.list({ limit: 100 })
      return instances.length === ids.length && instances.every(({ status }) => ["completed", "failed", "cancelled", "terminated"].includes(status))
    }
    for (;;) {
      await this.#settle()
      if (this.host.now() > this.#beganAt + troubleMs && (await isOver())) return
      const at = this.host.nextTimerAt()
      if (at === undefined || at > this.#beganAt + endMs) break
      await this.host.advanceTo(at, () => this.#settle())
    }
    const { instances } = await caller.list({ limit: 100 })
    this.violations.push(`time ran out: ${instances.map(({ id, status }) => `${id} ${status}`).join(", ")}`)
  }

  async #open(slot: number): Promise<void> {
    const isWorkflowProcess = slot < 2
    const process = new SimulatedProcess({
      host: this.host,
      store: this.#store,
      faults: this.#faults,
      options: isWorkflowProcess ? options : { ...options, taskQueues: [queue], activities: [this.#activityOf(() => process)] },
      onActivity: () => this.#activity++,
      onDeath: () => this.#reopenLater(slot),
    })
    this.#processes[slot] = process
    await process.open(isWorkflowProcess ? [job] : [])
  }

  #reopenLater(slot: number): void {
    this.#processes[slot] = undefined
    this.host.setTimer(this.host.now() + this.#upTo(3 * leaseMs), () => void this.#open(slot))
  }

  /** Fails now and then, and takes time, so that it is interrupted now and then. */
  #activityOf(process: () => SimulatedProcess): AnyActivity {
    return defineActivity("work", async (input: { readonly part: number }, { attempt, instance, heartbeat, lastHeartbeat, idempotencyKey }) => {
      const call = ++this.#callCount
      const attemptName = `${instance} ${idempotencyKey} attempt ${attempt}`
      if (this.#calls.has(attemptName)) this.violations.push(`${attemptName} of part ${input.part} runs twice`)
      this.#calls.add(attemptName)
      const { before = 0 } = (lastHeartbeat ?? {}) as { readonly before?: number }
      if (before >= attempt) this.violations.push(`${attemptName} gets a heartbeat of attempt ${before}`)
      if (lastHeartbeat !== undefined) this.statistics.count("heartbeats passed on")
      await process().work(this.#upTo(2_000))
      heartbeat({ before: attempt })
      await process().work(this.#upTo(2 * leaseMs))
      this.statistics.count("calls that ended")
      if (this.#happens(0.2)) throw new Error("not this time")
      return { attempt, call } satisfies Receipt
    })
  }

  async #act(caller: Engine, id: string): Promise<void> {
    const handle = caller.get(id)
    const act = this.#upTo(4)
    this.statistics.count(["cancel", "terminate", "restart", "pause"][act] ?? "")
    if (act === 0) await handle.cancel()
    else if (act === 1) await handle.terminate()
    else if (act === 2) await handle.restart()
    else {
      await handle.pause()
      this.#at(troubleMs / 2, () => handle.resume())
    }
  }

  #disturb(): void {
    const process = this.#processes[this.#upTo(4)]
    if (!process || process.isDead) return
    if (this.#happens(0.5)) {
      this.statistics.count("deaths")
      process.die("now")
    } else if (!process.isFrozen) {
      this.statistics.count("freezes")
      process.freeze()
      this.host.setTimer(this.host.now() + leaseMs + this.#upTo(3 * leaseMs), () => process.thaw())
    }
  }

  async #judge(caller: Engine, id: string): Promise<void> {
    const description = await caller.describe(id)
    for (const step of description.steps) {
      if (step.type !== "activity" || step.status !== "completed") continue
      const receipt = step.result as Receipt | undefined
      if (receipt?.attempt !== step.attempts)
        this.violations.push(`${id} ${step.id}: attempt ${step.attempts} was the last, and its result is that of ${receipt?.attempt}`)
      this.statistics.count("results")
    }
    this.statistics.count(`instances ${description.status}`)
    if (description.status === "failed") this.violations.push(`${id} failed: ${String(description.error)}`)
  }

  async #settle(): Promise<void> {
    let last = -1
    for (let quiet = 0, passed = 0; quiet < 3; passed++) {
      await new Promise<void>((resolve) => macrotask(resolve))
      const isBusy = this.#activity !== last || this.#processes.some((process) => process && !process.isDead && process.beats > 0)
      quiet = isBusy ? 0 : quiet + 1
      last = this.#activity
      if (passed > macrotasksMax) throw new Error("something goes round in circles without time passing")
    }
  }

  #at(ms: number, run: () => unknown): void {
    this.host.setTimer(
      Math.max(this.#beganAt + ms, this.host.now()),
      () =>
        void Promise.resolve()
          .then(run)
          .catch(() => undefined),
    )
  }

  #upTo(max: number): number {
    return Math.floor(this.#random.next() * max)
  }

  #happens(rate: number): boolean {
    return this.#random.next() < rate
  }
}

/** Asks for some activities at a time, and for one more after them. */
const job: AnyWorkflow = workflow("job", async (ctx: Context, parts: number) => {
  const options = { taskQueue: queue, heartbeatTimeout: 2 * leaseMs, retry: { maxAttempts: 1_000, initialInterval: 200, backoff: "fixed", jitter: 0 } } as const
  await Promise.all(Array.from({ length: parts }, (_, part) => ctx.activity("work", { ...options, input: { part } })))
  await ctx.do("between", () => parts)
  return ctx.activity("work", { ...options, input: { part: parts } })
})

/** Plays one seed. */
export async function simulateTasks(spec: TaskSimulationSpec): Promise<{ readonly violations: readonly string[]; readonly statistics: Statistics }> {
  const simulation = new TaskSimulation(spec)
  await simulation.run()
  return simulation
}
