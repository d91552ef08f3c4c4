import type { Store, StoreProvider } from "../ports/store.ts"
import { overriding } from "../engine/method-overrides.ts"

/**
 * A provider that opens its store once and keeps it open until `close`: an engine that closes the store and opens it again finds its data. Tests that
 * crash an engine need this provider for stores that lose everything when they are closed, such as SQLite in memory.
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
