import { silentLogger } from "../../hosts/silent-logger.ts"
import type { Directory } from "../../ports/directory.ts"
import type { FlowControl } from "../../ports/flow-control.ts"
import type { JournalStore } from "../../ports/journal-store.ts"
import type { Store, StoreContext, StoreProvider } from "../../ports/store.ts"

/** A fresh store for one test, on a clock that the test moves. */
export class StoreBed {
  readonly provider: StoreProvider
  /** The time of the store's clock. */
  now = 1_000_000
  readonly #open: Store[] = []

  constructor(provider: StoreProvider) {
    this.provider = provider
  }

  get context(): StoreContext {
    return { now: () => this.now, log: silentLogger, role: "worker" }
  }

  async open(): Promise<Store> {
    const store = await this.provider.open(this.context)
    this.#open.push(store)
    return store
  }

  get store(): Store {
    const [first] = this.#open
    if (first === undefined) throw new Error("open the store first")
    return first
  }

  get journal(): JournalStore {
    return this.store.journal
  }

  get directory(): Directory {
    return this.store.directory
  }

  get flow(): FlowControl {
    return this.store.flow
  }

  async close(): Promise<void> {
    for (const store of this.#open.splice(0).toReversed()) await store.close()
  }
}

/** Returns the bed of the running test. */
export type CurrentBed = () => StoreBed
