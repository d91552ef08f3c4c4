import type { ObjectNetwork } from "../../ports/cloudflare/object-network.ts"
import type { Directory } from "../../ports/directory.ts"
import type { JournalStore, Turn } from "../../ports/journal-store.ts"
import type { ScheduleStore } from "../../ports/schedule-store.ts"
import type { Hint, Store, StoreRole } from "../../ports/store.ts"
import type { SentTasks } from "../../ports/task-store.ts"
import type { Transactions } from "../../ports/transactions.ts"
import { ObjectDirectory } from "./object-directory.ts"
import { ObjectJournal } from "./object-journal.ts"
import type { SlotRequester } from "./slot-requester.ts"
import { UniqueKeyCommits } from "./unique-key-commits.ts"

export interface ObjectStoreOptions {
  /** The object's own database. */
  readonly database: Pick<Store, "journal" | "role" | "standBy" | "onHint" | "close">
  /** The object's own instance in that database. */
  readonly directory: Pick<Directory, "deliver" | "deliverOrCreate" | "get" | "remove">
  /** The id of the object's instance. */
  readonly ownId: () => string | undefined
  readonly network: ObjectNetwork
  readonly flow: Store["flow"]
  readonly keys: Pick<SlotRequester, "withKeys">
  readonly transactions: Transactions
  readonly sentTasks: SentTasks
  /** The changes of the object's own instance. */
  readonly changes: Pick<Directory, "changes" | "latestChange">
  /** False: nothing has been written to the object yet. */
  readonly isThere: () => boolean
  /** Called before an instance is created, in the same synchronous write. */
  readonly beforeFirstWrite: () => void
  /** Called after each write, before anything else can happen in the object. */
  readonly afterWrite: () => void
  /** Only in the object of a schedule: the schedule, and a function that reads instances. */
  readonly scheduling?: { readonly schedules: ScheduleStore; readonly get: Directory["get"] }
}

/** The options of the store, and the state that its ports share. */
export interface SharedStoreState extends ObjectStoreOptions {
  readonly uniqueKeyCommits: UniqueKeyCommits
  /** The worker in this object. No other worker can execute its instance. */
  readonly lease: { worker: string | undefined }
  /** The turn written last, while the journal ends with it. A caller that asks how the instance ended needs no other turn. */
  readonly last: { turn: Turn | undefined }
}

/** The store of one instance in one Durable Object: its own rows in the object's database, all other instances over the network. */
export class ObjectStore implements Store {
  readonly journal: JournalStore
  readonly directory: Directory
  readonly flow: Store["flow"]
  readonly transactions: Transactions
  readonly #options: ObjectStoreOptions

  constructor(options: ObjectStoreOptions) {
    const { transactions, keys, directory, afterWrite } = options
    this.#options = options
    const uniqueKeyCommits = new UniqueKeyCommits(keys, directory, afterWrite)
    const shared: SharedStoreState = { ...options, uniqueKeyCommits, lease: { worker: undefined }, last: { turn: undefined } }
    this.journal = new ObjectJournal(shared)
    this.directory = new ObjectDirectory(shared)
    this.flow = options.flow
    this.transactions = {
      transact: async (run) => {
        shared.last.turn = undefined
        const outcome = await transactions.transact(run)
        afterWrite()
        return outcome
      },
    }
  }

  get schedules(): ScheduleStore {
    const { scheduling } = this.#options
    if (scheduling === undefined) throw new Error("the object of an instance has no schedules")
    return scheduling.schedules
  }

  get role(): StoreRole {
    return this.#options.database.role
  }

  standBy(): Promise<StoreRole> {
    return this.#options.database.standBy()
  }

  onHint(listener: (hint?: Hint) => void): () => void {
    return this.#options.database.onHint(listener)
  }

  get sentTasks(): SentTasks {
    return this.#options.sentTasks
  }

  isRemote(id: string): boolean {
    return this.#options.ownId() !== id
  }

  close(): Promise<void> {
    return this.#options.database.close()
  }
}
