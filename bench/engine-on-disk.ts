import { join } from "node:path"
import { type Engine, Perdure, type StoreProvider } from "perdure"
import { sqlite } from "perdure/sqlite"
import { workflows } from "./bench-workflows.ts"

export const databaseIn = (folder: string) => join(folder, "bench.db")

/** A store with the default settings: WAL and synchronous FULL. */
export const storeOnDisk = (folder: string): StoreProvider => sqlite(databaseIn(folder))

export function openEngine(folder: string): Promise<Engine> {
  return Perdure.open({ store: storeOnDisk(folder), workflows })
}
