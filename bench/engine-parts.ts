import type { Engine } from "perdure"

interface EngineComponents {
  readonly worker: { readonly residents: { readonly size: number }; readonly committer: { readonly commits: number } }
}

/** The components of an engine, which are no part of its public type. */
export function partsOf(engine: Engine): EngineComponents {
  return (engine as unknown as { readonly parts: EngineComponents }).parts
}
