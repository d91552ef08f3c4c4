import { forgetAll } from "./object-sql-driver.ts"
import type { ObjectStorage } from "./object-storage.ts"

/** What else an object does with its storage. */
interface WholeStorage extends ObjectStorage {
  setAlarm(at: number): Promise<void>
  deleteAlarm(): Promise<void>
  deleteAll(): Promise<void>
  sync(): Promise<void>
}

/** An object's storage whose drivers forget what they know of it when all is deleted, whoever does that. */
export function emptiedStorage(storage: WholeStorage): WholeStorage {
  const watched: WholeStorage = {
    sql: storage.sql,
    transactionSync: (fn) => storage.transactionSync(fn),
    setAlarm: (at) => storage.setAlarm(at),
    deleteAlarm: () => storage.deleteAlarm(),
    sync: () => storage.sync(),
    deleteAll() {
      const forget = () => forgetAll(watched)
      forget()
      return storage.deleteAll().finally(forget)
    },
  }
  return watched
}
