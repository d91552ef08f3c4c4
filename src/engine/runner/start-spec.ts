import type { EntryOf } from "../../core/journal/journal.ts"
import type { RunReference } from "../../ports/journal-store.ts"

/** The first entry of a new instance. */
export interface StartSpec {
  readonly start: EntryOf<"run.started">
  /** The run of the parent, for a child. */
  readonly within: RunReference | undefined
}
