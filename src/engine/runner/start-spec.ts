import type { EntryOf } from "../../core/journal/journal.ts"
import type { RunReference } from "../../ports/journal-store.ts"

/** How an instance comes into being. */
export interface StartSpec {
  readonly start: EntryOf<"run.started">
  /** The run that it is a child of. */
  readonly within: RunReference | undefined
}
