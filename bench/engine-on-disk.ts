import { join } from "node:path"
import { type Engine, Perdure, type StoreProvider } from "perdure"
import { sqlite } from "perdure/sqlite"
import { workflows } from "./bench-workflows.ts"

export const databaseIn = (folder: string) => join(folder, "bench.db")

/** An engine as users get it: all defaults, which means WAL and synchronous FULL. */
export function openEngine(folder: string, store: StoreProvider = sqlite(databaseIn(folder))): Promise<Engine> {
  return Perdure.open({ store, workflows })
}

/** A store that tells how many turns went into each of its transactions. */
export function countingStore(folder: string, onCommit: (turns: number) => void): StoreProvider {
  const inner = sqlite(databaseIn(folder))
  return {
    name: inner.name,
    async open(context) {
      const store = await inner.open(context)
      const commit = store.journal.commit.bind(store.journal)
      store.journal.commit = (turns) => {
        onCommit(turns.length)
        return commit(turns)
      }
      return store
    },
  }
}
