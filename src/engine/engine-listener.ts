import type { Entry, EntryOf } from "../core/journal/journal.ts"
import type { Hint } from "../ports/store.ts"

/**
 * A part that an engine may have beside its core. The core knows no more of it than this: what it is told of, and when it is to begin and to
 * end. Whoever composes an engine attaches those that it is to have; the code of others is not even loaded.
 */
export interface EngineListener {
  /** Instances are executed from now on. */
  start?(): void
  /** An instance has ended. */
  onInstanceEnded?(id: string, entry: Entry): void
  /** An instance has stalled. */
  onInstanceStalled?(id: string, entry: EntryOf<"stalled">): void
  /** A run of an instance is over, and another may have begun. */
  onRunEnded?(id: string): void
  /** An update is answered. */
  onUpdateAnswered?(answer: EntryOf<"update.completed" | "update.failed">): void
  /** Something was written here. */
  onCommit?(): void
  /** Somebody else may have changed something: at once. */
  onHint?(hint: Hint): void
  /** The same, for what takes its time: one look follows the other. */
  refresh?(hint: Hint): Promise<void>
  /** Begins nothing more; what is under way is finished. */
  stop?(): Promise<void>
  /** Whoever still waits is refused. */
  close?(refusal: unknown): void
}
