import type { Store, StoreProvider } from "../ports/store.ts"
import { overriding } from "./overriding.ts"

/**
 * A provider whose store is opened once, and stays open until `close`: an engine that closes and opens it again finds what was there. It is for
 * stores that lose everything when they are closed, such as SQLite in memory, in tests that crash an engine.
 */
export class KeptStore implements StoreProvider {
  readonly name: string
  readonly #provider: StoreProvider
  #store: Promise<Store> | undefined

  constructor(provider: StoreProvider) {
    this.name = provider.name
    this.#provider = provider
  }

  async open(context: Parameters<StoreProvider["open"]>[0]): Promise<Store> {
    this.#store ??= this.#provider.open(context)
    return overriding(await this.#store, { close: async () => Promise.resolve() })
  }

  async close(): Promise<void> {
    await (await this.#store)?.close()
    this.#store = undefined
  }
}
