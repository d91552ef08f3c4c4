import { Answers } from "../../engine/answers.ts"
import { CodeAsker } from "../../engine/code-asker.ts"
import { EngineCore } from "../../engine/engine-core.ts"
import type { EngineSpec } from "../../engine/engine-parts.ts"

/** In an object nobody else can take the instance, and nothing is written past its engine: there is nothing to look for. */
const quiet = { lease: "36500d", sweep: "36500d" } as const

/** The engine of an instance's object: the core of every engine, and what answers queries and updates. */
export interface ObjectEngine {
  readonly core: EngineCore
  readonly asker: CodeAsker
}

export async function openObjectEngine(spec: EngineSpec): Promise<ObjectEngine> {
  const core = await openQuietCore(spec)
  const { store, host, registry, worker } = core.parts
  const answers = core.attach(new Answers(store, host, core.recheck))
  await core.begin()
  return { core, asker: new CodeAsker(store, registry, worker, answers) }
}

export function openQuietCore(spec: EngineSpec): Promise<EngineCore> {
  return EngineCore.open({ ...spec, options: { ...spec.options, ...quiet } })
}
