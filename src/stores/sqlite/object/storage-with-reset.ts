import { clearReadCache } from "./object-sql-driver.ts"
import type { ObjectStorage } from "./object-storage.ts"

/**
 * An object's storage whose drivers forget what they know of it when all is deleted, whoever does that. It is the storage itself, and not something
 * around it: most of what it is asked for is asked for with every step.
 */
export function storageWithReset<S extends ObjectStorage & { deleteAll(...options: unknown[]): Promise<void> }>(storage: S): S {
  const deleteAll = storage.deleteAll.bind(storage)
  return Object.assign(storage, {
    deleteAll(...options: unknown[]) {
      const forget = () => clearReadCache(storage)
      forget()
      return deleteAll(...options).finally(forget)
    },
  })
}
