/** One process of a simulation: an engine with a clock of its own that can be stopped, suspended, and thought dead by others. */
import type { AnyWorkflow } from "perdure"
import { Engine } from "../../src/engine/engine.ts"
import type { EngineOptions } from "../../src/engine/settings.ts"
import { macrotask, type SimulatedHost } from "../../src/hosts/simulated/simulated-host.ts"
import type { Host, Scope } from "../../src/ports/host.ts"
import type { StoreProvider } from "../../src/ports/store.ts"
import { faultyStore, type FaultSource, type FaultyProcess } from "../../src/testing/faulty-store.ts"
import { overriding } from "./overriding.ts"

export interface ProcessSpec {
  readonly name: string
  readonly host: SimulatedHost
  readonly store: StoreProvider
  readonly faults: FaultSource
  readonly workflows: (process: SimulatedProcess) => readonly AnyWorkflow[]
  readonly options: EngineOptions
  /** Something happened: the simulation is not at rest. */
  readonly onActivity: () => void
  readonly onDeath: (process: SimulatedProcess) => void
}

export class SimulatedProcess implements FaultyProcess, Host {
  readonly name: string
  readonly died: Promise<void>
  isDead = false
  /** Macrotasks that were asked for and have not come. */
  beats = 0
  readonly #spec: ProcessSpec
  #engine: Engine | undefined
  #worker = ""
  readonly #loaded = new Map<string, number>()
  #frozen: (() => void)[] | undefined
  #tellDeath!: () => void

  constructor(spec: ProcessSpec) {
    this.#spec = spec
    this.name = spec.name
    this.died = new Promise((resolve) => {
      this.#tellDeath = resolve
    })
  }

  async open(): Promise<void> {
    const { store, faults, workflows, options } = this.#spec
    this.#engine = await Engine.open({ host: this, store: this.#known(faultyStore(store, faults, this)), workflows: workflows(this), options })
  }

  get engine(): Engine | undefined {
    return this.#engine
  }

  /** As the store knows it. */
  get worker(): string {
    return this.#worker
  }

  /** Up to where the journal was read at least since the last execution began; somebody else may have read it further. */
  loaded(id: string): number {
    const position = this.#loaded.get(id) ?? 0
    this.#loaded.delete(id)
    return position
  }

  /** An engine says its name first when it renews its lease, before it is open. */
  #known(provider: StoreProvider): StoreProvider {
    const open: StoreProvider["open"] = async (context) => {
      const store = await provider.open(context)
      const renew = (worker: string, ms: number) => {
        this.#worker = worker
        return store.journal.renew(worker, ms)
      }
      const readJournal: typeof store.journal.readJournal = async (id, from) => {
        const rows = await store.journal.readJournal(id, from)
        const last = rows.at(-1)
        this.#loaded.set(id, Math.min(this.#loaded.get(id) ?? Infinity, last ? last.position + last.count - 1 : 0))
        return rows
      }
      return overriding(store, { journal: overriding(store.journal, { renew, readJournal }) })
    }
    return { name: provider.name, open }
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

  /** Closed in good order: nothing of it is left. */
  retire(): void {
    this.isDead = true
    this.#tellDeath()
  }

  /** Nothing in it moves, and others take it for dead. */
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

  /** Virtual time that passes in this process only while it lives. */
  work(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.setTimer(this.now() + ms, resolve)
    })
  }

  now(): number {
    return this.#spec.host.now()
  }

  randomBytes(length: number): Uint8Array {
    return this.#spec.host.randomBytes(length)
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
