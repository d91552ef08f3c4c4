import { readChanges } from "../../engine/changes/change-batch.ts"
import { instanceChanges } from "../store/instance-changes.ts"
import { ChangeTable } from "../../stores/sqlite/tables/change-table.ts"
import { toChangeCursor } from "../../stores/shared/change-cursor.ts"
import { ShardChanges } from "../../stores/sqlite/object/shards/shard-changes.ts"
import type { ChangePart, RunnerPart } from "./runner-feature.ts"

const part: ChangePart = {
  own: ({ driver, journal }) => {
    const table = new ChangeTable(driver, journal)
    return {
      changes: async (after, limit, instance) => table.read(after, limit, instance),
      latestChange: async () => toChangeCursor(table.latest()),
    }
  },
  told: instanceChanges,
  index: (driver) => new ShardChanges(driver),
}

/** For `changes`: of one instance, step by step, and of all, which the index is told of. */
export const changes: RunnerPart = {
  answers: ({ parts }) => ({ changes: (id: string, cursor: string | undefined) => readChanges(parts.store.directory, id, cursor) }),
  changes: part,
}
