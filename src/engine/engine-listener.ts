import type { Entry, EntryOf } from "../core/journal/journal.ts"
import type { Hint } from "../ports/store.ts"

/**
 * A component of an engine beside its core, such as the scheduler or the change feed. The core notifies its listeners of what happens to instances, and
 * starts and stops them with the engine.
 */
export interface EngineListener {
  /** The engine begins to execute instances. */
  start?(): void
  onInstanceEnded?(id: string, entry: Entry): void
  onInstanceStalled?(id: string, entry: EntryOf<"stalled">): void
  /** A run of an instance has ended, and another one has begun. */
  onRunEnded?(id: string): void
  onUpdateAnswered?(answer: EntryOf<"update.completed" | "update.failed">): void
  /** This engine has written something. */
  onCommit?(): void
  /** Another process may have changed something. Called at once, for every hint. */
  onHint?(hint: Hint): void
  /** Another process may have changed something. Called for one hint at a time: hints that arrive meanwhile are merged into the next call. */
  refresh?(hint: Hint): Promise<void>
  /** Begins nothing more, and resolves when the current work is finished. */
  stop?(): Promise<void>
  /** Rejects all waiting callers. */
  close?(refusal: unknown): void
}
