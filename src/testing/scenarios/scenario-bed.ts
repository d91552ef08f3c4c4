import type { Handle } from "../../client-api/client-api.ts"
import type { StoreProvider } from "../../ports/store.ts"
import type { TestEngine, TestEngineOptions } from "../test-engine.ts"

/** Opens an engine in virtual time on an empty store of the tested kind. The engine is closed when the test is over. */
export type OpenBed = (options: BedOptions) => Promise<TestEngine>

export interface BedOptions extends Omit<TestEngineOptions, "store"> {
  /** Wraps the store: the engine uses the returned provider. */
  readonly wrap?: (store: StoreProvider) => StoreProvider
}

/** The ids of an instance's steps with their states, in the order of the asks. */
export async function stepsSeen(handle: Pick<Handle, "steps">): Promise<readonly string[]> {
  return (await handle.steps()).map(({ id, status }) => `${id} ${status}`)
}

/** The types of an instance's entries, in order. */
export async function entriesSeen(handle: Pick<Handle, "history">, run?: number): Promise<readonly string[]> {
  const { entries } = await handle.history({ limit: 1_000, ...(run === undefined ? undefined : { run }) })
  return entries.map(({ type }) => type)
}
