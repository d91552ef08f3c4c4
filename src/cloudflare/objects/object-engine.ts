import { ResultWaiters } from "../../engine/instances/result-waiters.ts"
import { type CoreKind, EngineCore, createCore } from "../../engine/engine-core.ts"
import type { EngineSpec } from "../../engine/engine-components.ts"
import { objectSettings } from "../../engine/settings.ts"
import { SingleInstanceWorker } from "../../engine/worker/single-instance-worker.ts"

const kind: CoreKind<SingleInstanceWorker> = {
  worker: (spec) => new SingleInstanceWorker(spec),
  host: (own) => own,
  settings: objectSettings,
  settingsOnStore: (settings) => settings,
  resultWaiters: ({ store, host, worker }) => new ResultWaiters(store, host, worker.timers),
}

/** Opens the core of the engine in an object. The core claims nothing before `begin` is called. */
export async function openObjectCore(spec: EngineSpec): Promise<EngineCore> {
  return new EngineCore(await createCore(spec, kind))
}
