import { readChanges } from "../engine/change-batch.ts"
import { ChangeTable } from "../stores/sqlite/change-table.ts"
import { toChangeCursor } from "../stores/change-cursor.ts"
import type { RunnerPart } from "./runner-part.ts"

/** For `changes` of one instance, step by step; those of all instances are in the index. */
export const changes: RunnerPart = {
  answers: ({ parts }) => ({ changes: (id: string, cursor: string | undefined) => readChanges(parts.store.directory, id, cursor) }),
  changes: ({ driver, journal }) => {
    const table = new ChangeTable(driver, journal)
    return {
      changes: async (after, limit, instance) => table.read(after, limit, instance),
      latestChange: async () => toChangeCursor(table.latest()),
    }
  },
}
