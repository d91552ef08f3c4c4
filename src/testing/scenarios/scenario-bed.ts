import type { Handle } from "../../engine/client-api.ts"
import type { StoreProvider } from "../../ports/store.ts"
import type { TestEngine, TestEngineOptions } from "../test-engine.ts"

/** Opens an engine in virtual time on an empty store of the kind that is tried out; it is closed when the test is over. */
export type OpenBed = (options: BedOptions) => Promise<TestEngine>

export interface BedOptions extends Omit<TestEngineOptions, "store"> {
  /** Given the store, and what it answers is used in its place. */
  readonly wrap?: (store: StoreProvider) => StoreProvider
}

/** The ids of an instance's steps with what each has come to, in the order in which they were asked for. */
export async function stepsSeen(handle: Pick<Handle, "steps">): Promise<readonly string[]> {
  return (await handle.steps()).map(({ id, status }) => `${id} ${status}`)
}

/** The types of an instance's entries, in order. */
export async function entriesSeen(handle: Pick<Handle, "history">, run?: number): Promise<readonly string[]> {
  const { entries } = await handle.history({ limit: 1_000, ...(run === undefined ? undefined : { run }) })
  return entries.map(({ type }) => type)
}
