import { changeOf } from "../../core/journal/change.ts"
import { decodeRow } from "../../core/journal/turn-codec.ts"
import type { IndexChange } from "../../ports/cloudflare/index-shard.ts"
import type { JournalRow } from "../../ports/journal-store.ts"

/** The changes that journal rows behind a position contain for the index: changes of the instance, without those of its steps. */
export function instanceChanges(instance: string, rows: readonly JournalRow[], after: number): readonly IndexChange[] {
  return rows.flatMap((row) => {
    const recorded = decodeRow(row)
    return recorded.flatMap((item, at) => {
      const { position, run, at: time } = item
      const change = position <= after ? undefined : changeOf(instance, item, recorded[at - 1]?.entry)
      return change?.type.startsWith("workflow.") ? [{ position, run, at: time, ...change }] : []
    })
  })
}
