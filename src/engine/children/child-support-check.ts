import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { Entry } from "../../core/journal/journal.ts"
import { partMissing } from "../../core/execution/part-missing.ts"
import type { InstanceRow, NewMessage } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import type { EngineFeatures } from "../feature-set.ts"
import { loadRun, type LoadedRun } from "../runner/run-loader.ts"
import type { TurnDraft } from "../runner/turn-draft.ts"

/** What an engine that may have no children does about those that an instance has from another one. */

/** What goes out with the turn that ends a run. Nothing ends without its parent and its children being told. */
export function endingMessages(
  { children }: EngineFeatures,
  state: InstanceState,
  incarnation: string,
  entry: Entry,
  draft: Pick<TurnDraft, "at" | "stored">,
): readonly NewMessage[] {
  if (children) return children.endingMessages(state, incarnation, entry, draft)
  if (state.parent || state.children.size > 0 || state.strays) throw partMissing("children", "an instance that has a parent or children")
  return []
}

export interface LoadedInstance extends LoadedRun {
  /** Of children that it has from another run. */
  readonly news: readonly NewMessage[]
}

/** All that a runner needs of an instance that the store has. */
export async function loadInstance({ children }: EngineFeatures, store: Store, row: InstanceRow): Promise<LoadedInstance> {
  const loaded = await loadRun(store.journal, row)
  return { ...loaded, news: (await children?.keptChildResults(store, row, loaded)) ?? [] }
}
