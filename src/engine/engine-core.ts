import { partMissing } from "../core/execution/part-missing.ts"
import type { PayloadCodecs } from "../core/values/payload-codecs.ts"
import type { Host } from "../ports/host.ts"
import type { Store, StoreRole } from "../ports/store.ts"
import type { EngineListener } from "./engine-listener.ts"
import { InstanceControls } from "./instances/instance-controls.ts"
import { type ResultWaiters, engineClosed } from "./instances/result-waiters.ts"
import type { EngineFeatures } from "./feature-set.ts"
import type { BareParts, CoreParts, EngineSpec } from "./engine-components.ts"
import { WorkflowRegistry } from "./workflow-registry.ts"
import { type EngineOptions, type EngineSettings, engineSettings } from "./settings.ts"
import { InstanceStarter } from "./instances/instance-starter.ts"
import { wallNow } from "./wall-clock.ts"
import type { Worker, WorkerSpec } from "./worker/worker.ts"

/** What a core is made of. */
export interface MadeCore<W extends Worker> {
  readonly parts: CoreParts<W>
  readonly listeners: EngineListener[]
}

/** What depends on whether others use the store as well. */
export interface CoreKind<W extends Worker> {
  worker(spec: WorkerSpec): W
  /** Where a store has a clock of its own, it is that one's time that counts. */
  host(own: Host, opened: Store): Host
  settings(common: EngineSettings, options: EngineOptions): EngineSettings
  /** As the store would have them. */
  onStore(settings: EngineSettings, options: EngineOptions, opened: Store): EngineSettings
  resultWaiters(parts: BareParts<W>): ResultWaiters
}

/** Opens the store, and puts together what works on it. */
export async function makeCore<W extends Worker>(spec: EngineSpec, kind: CoreKind<W>): Promise<MadeCore<W>> {
  const { features = {} } = spec
  const asked = kind.settings(engineSettings(spec.options, { codecs: codecsOf(spec.options, features), budget: spec.budget }), spec.options)
  const { workflows } = spec
  const registry = workflows instanceof WorkflowRegistry ? workflows : new WorkflowRegistry(workflows, asked.limits, asked.queues)
  const opened = await spec.store.open({
    now: () => spec.host.now(),
    wallNow: () => wallNow(spec.host),
    monotonicMs: () => spec.host.monotonicMs(),
    log: spec.host.log,
    role: spec.role ?? "worker",
  })
  const host = kind.host(spec.host, opened)
  const settings = kind.onStore(asked, spec.options, opened)
  const store = settings.codecs && features.codecs ? features.codecs.store(opened, settings.codecs) : opened
  const listeners: EngineListener[] = []
  const listener: WorkerSpec["listener"] = {
    onEnd: (id, entry) => {
      for (const listener of listeners) listener.onInstanceEnded?.(id, entry)
    },
    onStall: (id, entry) => {
      for (const listener of listeners) listener.stalled?.(id, entry)
    },
    onRunOver: (id) => {
      for (const listener of listeners) listener.onRunEnded?.(id)
    },
    onAnswered: (answer) => {
      for (const listener of listeners) listener.onUpdateAnswered?.(answer)
    },
  }
  const worker = kind.worker({ store, host, registry, settings, features, listener })
  worker.committer.onWritten = () => {
    for (const listener of listeners) listener.onCommit?.()
  }
  const bare = { host, store, settings, registry, worker }
  const resultWaiters = kind.resultWaiters(bare)
  listeners.push(resultWaiters)
  const starter = new InstanceStarter(store, registry, worker)
  const controls = new InstanceControls(store, registry, worker)
  worker.childOperations = features.children?.childOperations(store, starter, controls)
  return { parts: { ...bare, resultWaiters, starter, controls }, listeners }
}

/**
 * What every engine has: it executes the instances of a store, starts, controls and reads them. It has no API of its own; `Engine` gives it that
 * of a client, and the object of an instance answers its callers with it. What else an engine can do is attached to it.
 */
export class EngineCore<W extends Worker = Worker> {
  readonly parts: CoreParts<W>
  protected readonly listeners: EngineListener[]
  protected closing: Promise<void> | undefined

  constructor({ parts, listeners }: MadeCore<W>) {
    this.parts = parts
    this.listeners = listeners
  }

  attach<C extends EngineListener>(listener: C): C {
    this.listeners.push(listener)
    return listener
  }

  /** `client`: another process executes; this one asks, and stands by. */
  get role(): StoreRole {
    return this.parts.worker.active ? "worker" : "client"
  }

  get isClosing(): boolean {
    return this.closing !== undefined
  }

  /** Nothing is executed before. */
  async begin(): Promise<void> {
    await this.parts.worker.start()
    if (!this.closing) for (const listener of this.listeners) listener.start?.()
  }

  /** Drops everything without a word to the store, as the death of the process would. */
  kill(): void {
    this.closing ??= Promise.resolve()
    for (const listener of this.listeners) void listener.stop?.()
    this.parts.worker.kill()
    this.parts.starter.close(engineClosed())
    for (const listener of this.listeners) listener.close?.(engineClosed())
  }
}

/** Undefined: values are stored as they are. */
export function codecsOf(options: EngineOptions, { codecs }: EngineFeatures): PayloadCodecs | undefined {
  if (codecs) return codecs.of(options)
  if (options.codec !== undefined || options.retiredCodecs !== undefined) throw partMissing("codecs", "a codec")
  return undefined
}
