import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import { Engine } from "../../engine/engine.ts"
import type { EngineOptions } from "../../engine/settings.ts"
import { macrotask, type SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import type { Host, Scope } from "../../ports/host.ts"
import type { Store, StoreProvider } from "../../ports/store.ts"
import { faultyStore, type FaultSource, type FaultyProcess } from "../faulty-store.ts"
import { overriding } from "../../engine/method-overrides.ts"

export interface ProcessSpec {
  readonly host: SimulatedHost
  readonly store: StoreProvider
  readonly faults: FaultSource
  readonly options: EngineOptions
  /** Called when something happens in the process: the simulation is not at rest. */
  readonly onActivity: () => void
  readonly onDeath: (process: SimulatedProcess) => void
}

/**
 * One process of a simulation: an engine with a clock of its own. The process can die between any two operations, be suspended for a while, and be
 * declared dead by other processes. A dead process does nothing more: no timer fires, no call ends, and nothing is closed.
 */
export class SimulatedProcess implements FaultyProcess, Host {
  readonly died: Promise<void>
  isDead = false
  /** The number of macrotasks that were requested and have not run. */
  beats = 0
  readonly #spec: ProcessSpec
  #engine: Engine | undefined
  #worker = ""
  #frozen: (() => void)[] | undefined
  #tellDeath!: () => void

  constructor(spec: ProcessSpec) {
    this.#spec = spec
    this.died = new Promise((resolve) => {
      this.#tellDeath = resolve
    })
  }

  async open(workflows: readonly AnyWorkflow[]): Promise<void> {
    const { store, faults, options } = this.#spec
    const faulty = faultyStore(store, faults, this)
    const known: StoreProvider = { name: faulty.name, open: async (context) => this.watch(await faulty.open(context)) }
    this.#engine = await Engine.open({ host: this, store: known, workflows, options })
  }

  get engine(): Engine | undefined {
    return this.#engine
  }

  /** The name of the worker in the store. */
  get worker(): string {
    return this.#worker
  }

  /** An engine first gives its name when it renews its lease, before `open` returns. */
  protected watch(store: Store): Store {
    const renew: Store["journal"]["renew"] = (worker, ms) => {
      this.#worker = worker
      return store.journal.renew(worker, ms)
    }
    return overriding(store, { journal: overriding(store.journal, { renew }) })
  }

  get isFrozen(): boolean {
    return this.#frozen !== undefined
  }

  die(when: "now" | "afterwards"): void {
    if (when === "afterwards") return macrotask(() => this.die("now"))
    if (this.isDead) return
    this.isDead = true
    this.#frozen = undefined
    this.#spec.onDeath(this)
    this.#tellDeath()
  }

  /** Closes the engine in good order and ends the process. */
  retire(): void {
    this.isDead = true
    this.#tellDeath()
  }

  /** Suspends the process: nothing in it runs, and other processes may declare it dead. */
  freeze(): void {
    if (!this.isDead) this.#frozen ??= []
  }

  thaw(): void {
    const waiting = this.#frozen ?? []
    this.#frozen = undefined
    for (const go of waiting) this.#enter(go)
  }

  pass(ms: number): Promise<void> {
    const { host } = this.#spec
    return new Promise((resolve) => {
      host.setTimer(host.now() + ms, resolve)
    })
  }

  awake(): Promise<void> {
    return this.#frozen ? new Promise((resolve) => this.#frozen?.push(resolve)) : Promise.resolve()
  }

  /** Lets virtual time pass in this process; never resolves if the process dies meanwhile. */
  work(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.setTimer(this.now() + ms, resolve)
    })
  }

  now(): number {
    return this.#spec.host.now()
  }

  aheadMs(): number {
    return this.#spec.host.aheadMs()
  }

  monotonicMs(): number {
    return this.#spec.host.monotonicMs()
  }

  randomBytes(length: number): Uint8Array {
    return this.#spec.host.randomBytes(length)
  }

  sha256(text: string): string {
    return this.#spec.host.sha256(text)
  }

  quiesce(then: () => void): void {
    this.beats++
    macrotask(() => {
      this.beats--
      this.#enter(then)
    })
  }

  setTimer(at: number, fire: () => void): () => void {
    return this.#spec.host.setTimer(at, () => this.#enter(fire))
  }

  runIn<S extends Scope, T>(scope: S, run: (scope: S) => T): T {
    return this.#spec.host.runIn(scope, run)
  }

  currentScope(): Scope | undefined {
    return this.#spec.host.currentScope()
  }

  onUnhandledRejection(): () => void {
    return () => undefined
  }

  get log() {
    return this.#spec.host.log
  }

  #enter(go: () => void): void {
    if (this.isDead) return
    this.#spec.onActivity()
    if (this.#frozen) this.#frozen.push(go)
    else go()
  }
}
