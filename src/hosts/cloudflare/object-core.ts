import { EngineCore } from "../../engine/engine-core.ts"
import type { EngineSpec } from "../../engine/engine-parts.ts"

/** In an object nobody else can take the instance, and nothing is written past its engine: there is nothing to look for. */
const quiet = { lease: "36500d", sweep: "36500d" } as const

/** The core of the engine in an object; it does not begin before it is told to. */
export function openObjectCore(spec: EngineSpec): Promise<EngineCore> {
  return EngineCore.open({ ...spec, options: { ...spec.options, ...quiet } })
}
