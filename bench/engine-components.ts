import type { Engine } from "perdure"

interface EngineComponents {
  readonly worker: { readonly residents: { readonly size: number }; readonly committer: { readonly commits: number } }
}

/** The components of an engine, which are not part of its public type. */
export function componentsOf(engine: Engine): EngineComponents {
  return (engine as unknown as { readonly components: EngineComponents }).components
}
