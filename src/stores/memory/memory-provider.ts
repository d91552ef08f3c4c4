import type { Store, StoreContext, StoreProvider } from "../../ports/store.ts"
import { storeClosedError } from "../shared/store-error.ts"
import { MemoryDatabase } from "./memory-database.ts"
import { MemoryDirectory } from "./memory-directory.ts"
import { MemoryFlowControl } from "./memory-flow-control.ts"
import { MemoryJournalStore } from "./memory-journal-store.ts"
import { MemoryScheduleStore } from "./memory-schedule-store.ts"
import { MemoryTaskStore } from "./memory-task-store.ts"

/**
 * A store in memory, for tests and for work that need not outlive the process. The data belongs to the provider: closing the store and opening it
 * again is a restart. Several engines may have the provider's store open at once, and all of them may be workers.
 */
export function memory(): StoreProvider {
  const database = new MemoryDatabase()
  const open = new Set<MemoryStore>()
  return {
    name: "memory",
    open: async (context) => {
      const store = new MemoryStore(database, context, open)
      open.add(store)
      return store
    },
  }
}

class MemoryStore implements Store {
  readonly journal: MemoryJournalStore
  readonly directory: MemoryDirectory
  readonly schedules: MemoryScheduleStore
  readonly flow: MemoryFlowControl
  readonly tasks: MemoryTaskStore
  readonly role
  readonly #siblings: Set<MemoryStore>
  readonly #listeners = new Set<() => void>()
  #isHintPending = false

  constructor(database: MemoryDatabase, context: StoreContext, siblings: Set<MemoryStore>) {
    this.role = context.role
    this.#siblings = siblings
    const access = {
      database,
      now: context.now,
      enter: () => {
        if (!siblings.has(this)) throw storeClosedError()
        database.now = context.now
      },
      changed: () => {
        this.flow.notifyAdmitted(database.flow.admittedIds.splice(0))
        for (const sibling of siblings) if (sibling !== this) sibling.#hint()
      },
    }
    this.journal = new MemoryJournalStore(access)
    this.directory = new MemoryDirectory(access)
    this.schedules = new MemoryScheduleStore(access)
    this.flow = new MemoryFlowControl(access)
    this.tasks = new MemoryTaskStore(access)
  }

  async standBy() {
    return this.role
  }

  onHint(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async close(): Promise<void> {
    this.#siblings.delete(this)
    this.#listeners.clear()
  }

  /** Notifies after the change, not within it. Many changes at once cause one notification. */
  #hint(): void {
    if (this.#isHintPending || this.#listeners.size === 0) return
    this.#isHintPending = true
    void Promise.resolve().then(() => {
      this.#isHintPending = false
      for (const listener of this.#listeners) listener()
    })
  }
}
