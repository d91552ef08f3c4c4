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
    return {
      turn,
      instance,
      incarnation,
      position: this.position,
      count: this.entries.length,
      run,
      at: this.at,
      entries: text,
      ...(blobs ? { blobs } : undefined),
      ...(this.create ? { create: this.create } : undefined),
      ...(state ? { state } : undefined),
      ...(this.consumed.length > 0 ? { consumed: this.consumed } : undefined),
      ...(this.inboxSeen === undefined ? undefined : { inboxSeen: this.inboxSeen }),
      ...(this.discardInbox ? { discardInbox: true } : undefined),
    }
  }
}
