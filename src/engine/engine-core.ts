import { redacted, shownError } from "../core/hidden.ts"
import { partMissing } from "../core/part-missing.ts"
import type { PayloadCodecs } from "../core/payload-codecs.ts"
import type { Host } from "../ports/host.ts"
import type { Store, StoreRole } from "../ports/store.ts"
import type { Companion } from "./companion.ts"
import { Controls } from "./controls.ts"
import { type Endings, engineClosed } from "./endings.ts"
import type { EngineFeatures } from "./engine-features.ts"
import type { CoreParts, EngineSpec } from "./engine-parts.ts"
import type { RecheckSpec } from "./recheck.ts"
import { WorkflowRegistry } from "./registry.ts"
import { type EngineOptions, engineSettings } from "./settings.ts"
import { Starter } from "./starter.ts"
import { onStoreClock } from "./store-clock.ts"
import type { Worker, WorkerSpec } from "./worker.ts"

const standByMs = 250

/** What a core is made of. */
export interface MadeCore<W extends Worker> {
  readonly parts: CoreParts<W>
  readonly companions: Companion[]
  /** For companions that wait for something which others may write. */
  readonly recheck: RecheckSpec
}

/** What depends on whether others use the store as well. */
export interface CoreKind<W extends Worker> {
  worker(spec: WorkerSpec): W
  endings(store: Store, host: Host, recheck: RecheckSpec, worker: W): Endings
}

/** Opens the store, and puts together what works on it. */
export async function makeCore<W extends Worker>(spec: EngineSpec, kind: CoreKind<W>): Promise<MadeCore<W>> {
  const { features = {} } = spec
  const asked = engineSettings(spec.options, { codecs: codecsOf(spec.options, features), budget: spec.budget })
  const registry = new WorkflowRegistry(spec.workflows, asked.limits, asked.queues)
  const opened = await spec.store.open({ now: () => spec.host.now(), log: spec.host.log, role: spec.role ?? "worker" })
  const host = onStoreClock(spec.host, opened)
  const settings = spec.options.sweep === undefined && opened.sweepMs !== undefined ? { ...asked, sweepMs: opened.sweepMs } : asked
  const store = settings.codecs && features.codecs ? features.codecs.store(opened, settings.codecs) : opened
  const companions: Companion[] = []
  const listener: WorkerSpec["listener"] = {
    onEnd: (id, entry) => {
      for (const companion of companions) companion.ended?.(id, entry)
    },
    onRunOver: (id) => {
      for (const companion of companions) companion.runOver?.(id)
    },
    onAnswered: (answer) => {
      for (const companion of companions) companion.answered?.(answer)
    },
  }
  const worker = kind.worker({ store, host, registry, settings, features, listener })
  worker.committer.onWritten = () => {
    for (const companion of companions) companion.written?.()
  }
  const recheck = { now: () => host.now(), timers: worker.timers, ours: worker, rarelyMs: opened.sweepMs === undefined ? undefined : settings.sweepMs }
  const endings = kind.endings(store, host, recheck, worker)
  companions.push(endings)
  const starter = new Starter(store, registry, worker)
  const controls = new Controls(store, registry, worker)
  worker.outreach = features.children?.outreach(store, starter, controls)
  return { parts: { host, store, settings, registry, worker, endings, starter, controls }, companions, recheck }
}

/**
 * What every engine has: it executes the instances of a store, starts, controls and reads them. It has no API of its own; `Engine` gives it that
 * of a client, and the object of an instance answers its callers with it. What else an engine can do is attached to it.
 */
export class EngineCore<W extends Worker = Worker> {
  readonly parts: CoreParts<W>
  readonly recheck: RecheckSpec
  protected readonly companions: Companion[]
  protected closing: Promise<void> | undefined
  protected stopRejections: () => void = () => undefined

  constructor({ parts, companions, recheck }: MadeCore<W>) {
    this.parts = parts
    this.recheck = recheck
    this.companions = companions
  }

  attach<C extends Companion>(companion: C): C {
    this.companions.push(companion)
    return companion
  }

  /** `client`: another process executes; this one asks, and stands by. */
  get role(): StoreRole {
    return this.parts.worker.active ? "worker" : "client"
  }

  get isClosing(): boolean {
    return this.closing !== undefined
  }

  /** Nothing is executed before. */
  async begin(wanted: StoreRole = "worker"): Promise<void> {
    const { store, host, worker, settings } = this.parts
    this.stopRejections = host.onUnhandledRejection((scope, reason) => {
      if (scope.engine !== worker) return
      host.log.error(
        `a promise of instance "${scope.instance}"${scope.step === undefined ? "" : `, step "${scope.step}",`} was rejected and nobody handled it`,
        { instance: scope.instance, error: scope.isSensitive === true ? redacted : shownError(reason) },
      )
    })
    if (wanted === "client" || settings.execute === "ticks") return
    if (store.role === "worker") return this.#execute()
    host.log.warn("another process executes the workflows of this store; this one is a client and stands by")
    this.#standBy()
  }

  async #execute(): Promise<void> {
    await this.parts.worker.start()
    if (!this.closing) for (const companion of this.companions) companion.start?.()
  }

  #standBy(): void {
    const { store, host, worker } = this.parts
    worker.timers.set(host.now() + standByMs, () => {
      void (async () => {
        try {
          const role = this.closing ? undefined : await store.standBy()
          // Also if it was closed while the store answered.
          if (this.closing) return
          if (role !== "worker") return this.#standBy()
          host.log.info("this process executes the workflows of this store now")
          await this.#execute()
        } catch (error) {
          if (this.closing) return
          host.log.error("standing by failed; trying again", { error })
          this.#standBy()
        }
      })()
    })
  }

  /** Drops everything without a word to the store, as the death of the process would. */
  kill(): void {
    this.closing ??= Promise.resolve()
    this.stopRejections()
    for (const companion of this.companions) void companion.stop?.()
    this.parts.worker.kill()
    this.parts.starter.close(engineClosed())
    for (const companion of this.companions) companion.close?.(engineClosed())
  }
}

/** Undefined: values are stored as they are. */
export function codecsOf(options: EngineOptions, { codecs }: EngineFeatures): PayloadCodecs | undefined {
  if (codecs) return codecs.of(options)
  if (options.codec !== undefined || options.retiredCodecs !== undefined) throw partMissing("codecs", "a codec")
  return undefined
}
