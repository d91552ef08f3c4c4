import type { Entry } from "../core/journal.ts"
import { encodeEntries } from "../core/turn-codec.ts"
import type { InstanceState as InstanceRowState, NewInstance, Turn } from "../ports/journal-store.ts"
import type { CommitResult } from "./committer.ts"

/** A turn in the making: what happened to one instance since its last turn. */
export class TurnDraft {
  readonly position: number
  readonly at: number
  readonly entries: Entry[] = []
  readonly consumed: number[] = []
  /** Set by a timeout: it must not win against an event that a sender got acknowledged. */
  inboxSeen: number | undefined
  discardInbox = false
  create: NewInstance | undefined
  /** Told first what became of the turn. */
  onResult: ((result: CommitResult) => void) | undefined
  /** What may happen only once this turn is durable: attempts start, nested results are handed out. */
  readonly afterCommit: (() => void)[] = []

  constructor(position: number, at: number) {
    this.position = position
    this.at = at
  }

  seal(turn: string, instance: string, incarnation: string, run: number, state: InstanceRowState | undefined): Turn {
    const { text, blobs } = encodeEntries(this.entries)
    const { position, at, consumed, create, inboxSeen } = this
    const turnOf: { -readonly [K in keyof Turn]: Turn[K] } = { turn, instance, incarnation, position, count: this.entries.length, run, at, entries: text }
    if (blobs) turnOf.blobs = blobs
    if (create) turnOf.create = create
    if (state) turnOf.state = state
    if (consumed.length > 0) turnOf.consumed = consumed
    if (inboxSeen !== undefined) turnOf.inboxSeen = inboxSeen
    if (this.discardInbox) turnOf.discardInbox = true
    return turnOf
  }
}
