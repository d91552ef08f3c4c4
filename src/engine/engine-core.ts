import type { Host } from "../ports/host.ts"
import type { Store, StoreRole } from "../ports/store.ts"
import { activityWorkflow } from "./tasks/activity-workflow.ts"
import { LocalActivities } from "./tasks/local-activities.ts"
import type { EngineListener } from "./engine-listener.ts"
import { InstanceControls } from "./instances/instance-controls.ts"
import { type ResultWaiters, engineClosed } from "./instances/result-waiters.ts"
import { ChildOperations } from "./children/child-operations.ts"
import type { CoreComponents, EngineSpec, WorkerComponents } from "./engine-components.ts"
import { withEnqueuedHook } from "./enqueued-hook.ts"
import { codedStore, payloadCodecs } from "./payload-codec-store.ts"
import { WorkflowRegistry } from "./workflow-registry.ts"
import { type EngineOptions, type EngineSettings, engineSettings } from "./settings.ts"
import { InstanceStarter } from "./instances/instance-starter.ts"
import { wallNow } from "./wall-clock.ts"
import type { Worker, WorkerOptions } from "./worker/worker.ts"

export interface CreatedCore<W extends Worker> {
  readonly components: CoreComponents<W>
  readonly listeners: EngineListener[]
}

/** What differs between an engine that shares its store with other processes and the engine of one Durable Object. */
export interface CoreKind<W extends Worker> {
  worker(spec: WorkerOptions): W
  /** The host, with the clock of the store if the store has one. */
  host(host: Host, opened: Store): Host
  settings(common: EngineSettings, options: EngineOptions): EngineSettings
  /** The settings again, with the defaults that the opened store asks for. */
  settingsOnStore(settings: EngineSettings, options: EngineOptions, opened: Store): EngineSettings
  resultWaiters(components: WorkerComponents<W>): ResultWaiters
}

/** Opens the store and constructs the components that work on it. */
export async function createCore<W extends Worker>(spec: EngineSpec, kind: CoreKind<W>): Promise<CreatedCore<W>> {
  const requested = kind.settings(
    engineSettings(spec.options, { codecs: payloadCodecs(spec.options), budget: spec.budget, dueTimes: spec.dueTimes }),
    spec.options,
  )
  const { workflows } = spec
  const known = workflows instanceof WorkflowRegistry || requested.activities.length === 0 ? workflows : [...workflows, activityWorkflow]
  const registry = known instanceof WorkflowRegistry ? known : new WorkflowRegistry(known, requested.limits, requested.queues)
  const opened = await spec.store.open({
    now: () => spec.host.now(),
    wallNow: () => wallNow(spec.host),
    monotonicMs: () => spec.host.monotonicMs(),
    log: spec.host.log,
    role: spec.role ?? "worker",
  })
  const host = kind.host(spec.host, opened)
  const settings = kind.settingsOnStore(requested, spec.options, opened)
  const coded = settings.codecs ? codedStore(opened, settings.codecs) : opened
  const { onEnqueued } = spec.options
  const store = onEnqueued ? withEnqueuedHook(coded, onEnqueued, () => host.now(), host.log) : coded
  const listeners: EngineListener[] = []
  const listener: WorkerOptions["listener"] = {
    onInstanceEnded: (id, entry) => {
      for (const listener of listeners) listener.onInstanceEnded?.(id, entry)
    },
    onInstanceStalled: (id, entry) => {
      for (const listener of listeners) listener.onInstanceStalled?.(id, entry)
    },
    onRunEnded: (id) => {
      for (const listener of listeners) listener.onRunEnded?.(id)
    },
    onUpdateAnswered: (answer) => {
      for (const listener of listeners) listener.onUpdateAnswered?.(answer)
    },
  }
  const activities = new LocalActivities(settings.activities, {
    queues: settings.activityQueues,
    concurrentMax: settings.concurrentActivitiesMax,
    ratedQueues: [...settings.queueRates.keys()],
    hasQueues: store.tasks !== undefined || store.sentTasks !== undefined,
    claimsTasks: store.tasks !== undefined && settings.execute === "always",
  })
  const worker = kind.worker({ store, host, registry, settings, activities, listener })
  worker.committer.onWritten = () => {
    for (const listener of listeners) listener.onCommit?.()
  }
  const ofWorker = { host, store, settings, registry, worker }
  const resultWaiters = kind.resultWaiters(ofWorker)
  listeners.push(resultWaiters)
  const starter = new InstanceStarter(store, registry, worker)
  const controls = new InstanceControls(store, registry, worker)
  worker.childOperations = new ChildOperations(store, starter, controls)
  return { components: { ...ofWorker, resultWaiters, starter, controls }, listeners }
}

/**
 * The part that every engine has: it executes the instances of a store, and starts, controls and reads instances. `EngineCore` has no API for users:
 * `Engine` adds the API of a client, and the Durable Object of an instance adds RPC methods. Further components are attached as listeners.
 */
export class EngineCore<W extends Worker = Worker> {
  readonly components: CoreComponents<W>
  protected readonly listeners: EngineListener[]
  protected closing: Promise<void> | undefined

  constructor({ components, listeners }: CreatedCore<W>) {
    this.components = components
    this.listeners = listeners
  }

  attach<C extends EngineListener>(listener: C): C {
    this.listeners.push(listener)
    return listener
  }

  /** `client`: another process executes the instances of the store. This engine stands by to take over. */
  get role(): StoreRole {
    return this.components.worker.active ? "worker" : "client"
  }

  get isClosing(): boolean {
    return this.closing !== undefined
  }

  /** Begins to execute instances. */
  async begin(): Promise<void> {
    await this.components.worker.start()
    if (!this.closing) for (const listener of this.listeners) listener.start?.()
  }

  /** Drops all state in memory without writing to the store, as the death of the process would. */
  kill(): void {
    this.closing ??= Promise.resolve()
    for (const listener of this.listeners) void listener.stop?.()
    this.components.worker.kill()
    this.components.starter.close(engineClosed())
    for (const listener of this.listeners) listener.close?.(engineClosed())
  }
}
