import { scheduleIdOf } from "../core/schedule.ts"
import { ScheduleObject } from "../hosts/cloudflare/schedule-object.ts"
import { EdgeSchedules } from "../stores/cloudflare/edge-schedules.ts"
import { scheduleName } from "../stores/cloudflare/object-name.ts"
import { OrderSender } from "../stores/cloudflare/order-sender.ts"
import { SqliteShardSchedules } from "../stores/sqlite/shards/shard-schedules.ts"
import { scheduleParts, SqliteObjectSchedule } from "../stores/sqlite/sqlite-object-schedule.ts"
import { SqliteScheduleStore } from "../stores/sqlite/sqlite-schedule-store.ts"
import { scheduleTables } from "../stores/sqlite/table-statements.ts"
import { openOwnStore } from "./own-store.ts"
import type { RunnerPart, SchedulePart } from "./runner-part.ts"

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
      orders: new OrderSender(rows, network, layout, shardOf, now, log),
      openStore: (onWritten) => ({
        name: "schedule",
        open: async (context) => {
          // One that is ordered and not known to have begun is as good as there: the schedule must not decide on it again.
          const get = async (id: string) => rows.ordered(id) ?? network.peer(id).get()
          const store = openOwnStore(site, context, flow, { own: () => undefined, onWritten }, (local) => ({
            schedules: new EdgeSchedules({ local: new SqliteScheduleStore(local), tables: rows, get, now, onWritten }),
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
