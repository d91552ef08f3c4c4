import type { Engine } from "perdure"

interface EngineComponents {
  readonly worker: { readonly residents: { readonly size: number }; readonly committer: { readonly commits: number } }
}

/** What an engine is made of is no part of its public type; measurements look at it all the same. */
export function partsOf(engine: Engine): EngineComponents {
  return (engine as unknown as { readonly parts: EngineComponents }).parts
}
