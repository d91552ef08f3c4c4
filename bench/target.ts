// A target is a store or a host on which workloads run. It knows how to open an engine, and
// every workload that names it among its targets gives figures for it. The code that only one target needs is loaded
// on demand, because the memory of processes without it is measured as well.

import { type Engine, Perdure, type StoreProvider } from "perdure"
import { workflows } from "./bench-workflows.ts"
import { storeOnDisk } from "./engine-on-disk.ts"
import type { Floor } from "./floor.ts"
import { storeOnPostgres } from "./postgres-place.ts"
import type { Folders } from "./workload.ts"

export interface Target {
  readonly id: string
  readonly title: string
  /** The target is for comparison only: goals hold for durable stores. */
  readonly hasNoGoals?: true
  /** A server that the run starts before its workloads. */
  readonly needs?: "postgres"
  /** The store of a folder, or of the schema that belongs to the folder, with default settings. */
  store(folder: string): StoreProvider
  /** The floor for the rows that a closed engine left in a folder. */
  floor?(folders: Folders, captured: string): Promise<Floor>
  /** Fills the store of a folder with `rows` rows of instances and journals, faster than engines can. */
  crowd?(folder: string, rows: number, progress: (text: string) => void): Promise<void>
}

export const targets = [
  {
    id: "sqlite",
    title: "SQLite",
    store: storeOnDisk,
    floor: async (...of) => (await import("./sqlite-floor.ts")).SqliteFloor.capture(...of),
    crowd: async (...of) => (await import("./crowd.ts")).crowd(...of),
  },
  {
    id: "postgres",
    title: "PostgreSQL",
    needs: "postgres",
    store: storeOnPostgres,
    floor: async (...of) => (await import("./postgres-floor.ts")).PostgresFloor.capture(...of),
    crowd: async (...of) => (await import("./postgres-crowd.ts")).crowdPostgres(...of),
  },
  { id: "objects", title: "Durable Objects", store: onlyInItsObject },
  { id: "memory", title: "memory", hasNoGoals: true, store: storeInMemory },
] as const satisfies readonly Target[]

/** The engines of this target are in the objects of a workerd (bench/objects), and only its workloads open them. */
function onlyInItsObject(): never {
  throw new Error("an engine in a Durable Object is opened by its object")
}

export type TargetId = (typeof targets)[number]["id"]

export function targetCalled(id: string): Target {
  const found = targets.find((target) => target.id === id)
  if (found === undefined) throw new Error(`there is no target ${id}; there are ${targets.map((target) => target.id).join(", ")}`)
  return found
}

/** Opens an engine with the default settings, as users do. */
export function openOn(target: Target, folder: string, store: StoreProvider = target.store(folder)): Promise<Engine> {
  return Perdure.open({ store, workflows })
}

export async function floorOn(target: Target, folders: Folders, captured: string): Promise<Floor> {
  if (target.floor === undefined) throw new Error(`nobody has written what the floor of ${target.title} is`)
  return target.floor(folders, captured)
}

/** Wraps a store, and reports how many turns went into each of its transactions. */
export function countingStore(inner: StoreProvider, onCommit: (turns: number) => void): StoreProvider {
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

function storeInMemory(): StoreProvider {
  return { name: "memory", open: async (context) => (await import("perdure/testing")).memory().open(context) }
}
