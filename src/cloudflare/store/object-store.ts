import type { ObjectNetwork } from "../../ports/cloudflare/object-network.ts"
import type { Directory } from "../../ports/directory.ts"
import type { JournalStore, Turn } from "../../ports/journal-store.ts"
import type { Hint, Store, StoreRole } from "../../ports/store.ts"
import { ObjectDirectory } from "./object-directory.ts"
import { ObjectJournal } from "./object-journal.ts"
import type { UniqueKeyCommits } from "./unique-key-commits.ts"
import type { SlotRequester } from "./slot-requester.ts"

export interface ObjectStoreOptions {
  /** The object's own database. */
  readonly database: Pick<Store, "journal" | "role" | "standBy" | "onHint" | "close">
  /** What is in it of the object's instance. */
  readonly directory: Pick<Directory, "deliver" | "deliverOrCreate" | "get" | "remove">
  /** The id of the object's instance. */
  readonly own: () => string | undefined
  readonly network: ObjectNetwork
  readonly flow: Store["flow"]
  readonly keys?: Pick<SlotRequester, "withKeys"> | undefined
  readonly uniqueKeyCommits?: UniqueKeyCommits | undefined
  readonly transactions?: Store["transactions"] | undefined
  /** Of a schedule's object; else nobody asks for schedules here. */
  readonly schedules?: Store["schedules"] | undefined
  /** Those of the object's own instance, where anybody may ask for them. */
  readonly changes?: Pick<Directory, "changes" | "latestChange"> | undefined
  /** False: nothing was written here yet. */
  readonly isThere?: (() => boolean) | undefined
  /** Called before an instance is made, in the same breath as that. */
  readonly onWriting?: (() => void) | undefined
  /** Called after each write, before anything else can happen in the object. */
  readonly onWritten: () => void
}

/** With what its parts know together. */
export interface SharedStoreOptions extends ObjectStoreOptions {
  /** Who executes here; nobody else can. */
  readonly lease: { worker: string | undefined }
  /** What was written last, as long as that is the end of the journal: who asks how an instance ended wants nothing else. */
  readonly last: { turn: Turn | undefined }
}

/** The store of one instance in one Durable Object: its own rows in the object's database, all other instances over the network. */
export class ObjectStore implements Store {
  readonly journal: JournalStore
  readonly directory: Directory
  readonly flow: Store["flow"]
  readonly transactions: Store["transactions"]
  readonly #parts: ObjectStoreOptions

  constructor(parts: ObjectStoreOptions) {
    const { transactions, onWritten } = parts
    this.#parts = parts
    const shared = { ...parts, lease: { worker: undefined }, last: { turn: undefined } }
    this.journal = new ObjectJournal(shared)
    this.directory = new ObjectDirectory(shared)
    this.flow = parts.flow
    this.transactions = transactions && {
      transact: async (run) => {
        shared.last.turn = undefined
        const outcome = await transactions.transact(run)
        onWritten()
        return outcome
      },
    }
  }

  get schedules(): Store["schedules"] {
    const { schedules } = this.#parts
    if (schedules === undefined) throw new Error("the object of an instance has no schedules")
    return schedules
  }

  get role(): StoreRole {
    return this.#parts.database.role
  }

  standBy(): Promise<StoreRole> {
    return this.#parts.database.standBy()
  }

  onHint(listener: (hint?: Hint) => void): () => void {
    return this.#parts.database.onHint(listener)
  }

  isRemote(id: string): boolean {
    return this.#parts.own() !== id
  }

  close(): Promise<void> {
    return this.#parts.database.close()
  }
}
