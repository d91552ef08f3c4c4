import type { Directory } from "../../src/ports/directory.ts"
import type { JournalStore } from "../../src/ports/journal-store.ts"
import type { StoreProvider } from "../../src/ports/store.ts"

export interface StoreMarks {
  /** Called around opening and around each write. SQLite works synchronously inside, so the call covers exactly the transaction. */
  during<T>(operation: "open" | "claim" | "commit" | "deliver", work: () => T): T
  onClaimed?(count: number): void
  onCommitted?(): void
}

/** Wraps a store, and marks its writes. */
export function markedStore(provider: StoreProvider, marks: StoreMarks): StoreProvider {
  return {
    name: provider.name,
    open: async (context) => {
      const store = await marks.during("open", () => provider.open(context))
      return {
        journal: markedJournal(store.journal, marks),
        directory: markedDirectory(store.directory, marks),
        schedules: store.schedules,
        transactions: store.transactions && { transact: (run) => marks.during("commit", () => store.transactions!.transact(run)) },
        flow: store.flow,
        get role() {
          return store.role
        },
        standBy: () => store.standBy(),
        onHint: (listener) => store.onHint(listener),
        close: () => store.close(),
      }
    },
  }
}

function markedJournal(journal: JournalStore, marks: StoreMarks): JournalStore {
  return {
    owned: (worker) => journal.owned(worker),
    claim: async (request) => {
      const claimed = await marks.during("claim", () => journal.claim(request))
      marks.onClaimed?.(claimed.length)
      return claimed
    },
    commit: async (turns) => {
      const outcomes = await marks.during("commit", () => journal.commit(turns))
      marks.onCommitted?.()
      return outcomes
    },
    renew: (worker, leaseMs) => marks.during("claim", () => journal.renew(worker, leaseMs)),
    release: (worker, ids) => marks.during("claim", () => journal.release(worker, ids)),
    unread: (worker, limit) => journal.unread(worker, limit),
    readJournal: (id, from) => journal.readJournal(id, from),
    readInbox: (ids, part) => journal.readInbox(ids, part),
    nextDueAt: (offers) => journal.nextDueAt(offers),
  }
}

function markedDirectory(directory: Directory, marks: StoreMarks): Directory {
  return {
    deliver: (messages) => marks.during("deliver", () => directory.deliver(messages)),
    workers: () => directory.workers(),
    deliverOrCreate: (message, create) => marks.during("deliver", () => directory.deliverOrCreate(message, create)),
    get: (id) => directory.get(id),
    list: (filter, page) => directory.list(filter, page),
    count: (filter, by) => directory.count(filter, by),
    remove: (ids) => directory.remove(ids),
    changes: (after, limit, instance) => directory.changes(after, limit, instance),
    latestChange: () => directory.latestChange(),
  }
}
