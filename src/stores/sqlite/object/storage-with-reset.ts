import { clearReadCache } from "./object-sql-driver.ts"
import type { ObjectStorage } from "./object-storage.ts"

/**
 * Makes `deleteAll` of an object's storage clear the read cache of its drivers, whichever code calls it. It changes the storage itself instead of
 * wrapping it, because a wrapper would slow down every call of a step.
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
