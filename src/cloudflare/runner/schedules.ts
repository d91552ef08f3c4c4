import { scheduleIdOf } from "../../core/time/schedule.ts"
import { ScheduleObject } from "../objects/schedule-object.ts"
import { ObjectScheduleClient } from "../store/object-schedules.ts"
import { scheduleName } from "../store/object-name.ts"
import { ScheduleOrderSender } from "../store/schedule-order-sender.ts"
import { SqliteShardSchedules } from "../../stores/sqlite/object/shards/shard-schedules.ts"
import { scheduleParts, SqliteObjectSchedule } from "../../stores/sqlite/object/object-schedule-table.ts"
import { SqliteScheduleStore } from "../../stores/sqlite/sqlite-schedule-store.ts"
import { scheduleTables } from "../../stores/sqlite/schema/table-statements.ts"
import { openObjectStore } from "./open-object-store.ts"
import type { RunnerPart, SchedulePart } from "./runner-feature.ts"

const part: SchedulePart = {
  schedule: (site, flow) => {
    const { driver, storage, network, shardOf, now, setting } = site
    const { layout, registry, options, features, log } = setting
    const rows = new SqliteObjectSchedule(driver)
    return new ScheduleObject({
      storage,
      workflows: registry,
      options,
      features,
      log,
      now,
      tables: rows,
      orders: new ScheduleOrderSender(rows, network, layout, shardOf, now, log),
      openStore: (onWritten) => ({
        name: "schedule",
        open: async (context) => {
          // One that is ordered and not known to have begun is as good as there: the schedule must not decide on it again.
          const get = async (id: string) => rows.ordered(id) ?? network.peer(id).get()
          const store = openObjectStore(site, context, flow, { own: () => undefined, onWritten }, (local) => ({
            schedules: new ObjectScheduleClient({ local: new SqliteScheduleStore(local), tables: rows, get, now, onWritten }),
          }))
          store.directory.get = get
          return store
        },
      }),
    })
  },
  index: (driver) => new SqliteShardSchedules(driver),
  ended: async ({ network }, id) => {
    const schedule = scheduleIdOf(id)
    if (schedule !== undefined) await network.scheduleEnded(scheduleName(schedule))
  },
}

/** For `client.schedules`. */
export const schedules: RunnerPart = { tables: { ...scheduleTables, ...scheduleParts }, schedules: part }
