/** A process of a simulation. It knows how far it has read the journals of its instances. */
import type { Store } from "../../src/ports/store.ts"
import { overriding } from "../../src/engine/method-overrides.ts"
import { SimulatedProcess } from "../../src/testing/simulation/simulated-process.ts"

export class ObservedProcess extends SimulatedProcess {
  readonly #loaded = new Map<string, number>()

  /** The position up to which the journal was read at least, since the last execution began. */
  loaded(id: string): number {
    const position = this.#loaded.get(id) ?? 0
    this.#loaded.delete(id)
    return position
  }

  protected override watch(inner: Store): Store {
    const store = super.watch(inner)
    const readJournal: Store["journal"]["readJournal"] = async (id, from) => {
      const rows = await store.journal.readJournal(id, from)
      const last = rows.at(-1)
      this.#loaded.set(id, Math.min(this.#loaded.get(id) ?? Infinity, last ? last.position + last.count - 1 : 0))
      return rows
    }
    return overriding(store, { journal: overriding(store.journal, { readJournal }) })
  }
}
