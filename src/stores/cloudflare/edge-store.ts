import type { ObjectNetwork } from "../../ports/object-network.ts"
import type { Directory } from "../../ports/directory.ts"
import type { JournalStore, Turn } from "../../ports/journal-store.ts"
import type { Hint, Store, StoreRole } from "../../ports/store.ts"
import { EdgeDirectory, type Overview } from "./edge-directory.ts"
import { EdgeFlow } from "./edge-flow.ts"
import { EdgeJournal } from "./edge-journal.ts"
import type { PermitSender } from "./permit-sender.ts"

export interface EdgeParts {
  /** The store in the object's own database. */
  readonly local: Store
  /** The id of the object's instance. */
  readonly own: () => string | undefined
  readonly network: ObjectNetwork
  /** The slots of the object's instance. */
  readonly permits: PermitSender
  /** Of a schedule's object; else nobody asks for schedules here. */
  readonly schedules?: Store["schedules"]
  /** What is asked of all instances together. */
  readonly overview: Overview
  /** Called after each write, before anything else can happen in the object. */
  readonly onWritten: () => void
}

/** With what its parts know together. */
export interface SharedParts extends EdgeParts {
  /** Who executes here; nobody else can. */
  readonly lease: { worker: string | undefined }
  /** What was written last, as long as that is the end of the journal: who asks how an instance ended wants nothing else. */
  readonly last: { turn: Turn | undefined }
}

/** The store of one instance in one Durable Object: its own rows in the object's database, all other instances over the network. */
export class EdgeStore implements Store {
  readonly journal: JournalStore
  readonly directory: Directory
  readonly schedules: Store["schedules"]
  readonly flow: Store["flow"]
  readonly transactions: Store["transactions"]
  readonly #parts: EdgeParts

  constructor(parts: EdgeParts) {
    const { local, onWritten } = parts
    this.#parts = parts
    const shared = { ...parts, lease: { worker: undefined }, last: { turn: undefined } }
    this.journal = new EdgeJournal(shared)
    this.directory = new EdgeDirectory(shared)
    this.schedules = parts.schedules ?? local.schedules
    this.flow = new EdgeFlow(parts)
    const { transactions } = local
    this.transactions = transactions && {
      transact: async (run) => {
        shared.last.turn = undefined
        const outcome = await transactions.transact(run)
        onWritten()
        return outcome
      },
    }
  }

  get role(): StoreRole {
    return this.#parts.local.role
  }

  standBy(): Promise<StoreRole> {
    return this.#parts.local.standBy()
  }

  onHint(listener: (hint?: Hint) => void): () => void {
    return this.#parts.local.onHint(listener)
  }

  isElsewhere(id: string): boolean {
    return this.#parts.own() !== id
  }

  close(): Promise<void> {
    return this.#parts.local.close()
  }
}
