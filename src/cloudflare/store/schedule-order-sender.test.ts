import { setImmediate as macrotask } from "node:timers/promises"
import { expect, it } from "vitest"
import { silentLogger } from "../../hosts/silent-logger.ts"
import type { ObjectNetwork } from "../../ports/cloudflare/object-network.ts"
import type { ObjectSchedule } from "../../ports/cloudflare/object-schedule.ts"
import { ScheduleOrderSender } from "./schedule-order-sender.ts"
import { ShardLayout } from "./shard-layout.ts"

it("a deletion takes the schedule that had the id before out of the index, too, where the index has not heard of its deletion", async () => {
  let removed: { readonly id: string; readonly incarnation: string } | undefined = { id: "s", incarnation: "second" }
  const tables: Partial<ObjectSchedule> = {
    isThere: () => true,
    orders: () => [],
    row: () => undefined,
    indexed: () => ({ revision: 1, incarnation: "first", ...(removed && { removed }) }),
    removed: (next) => (removed = next),
  }
  const gone: string[] = []
  const shard = () => ({
    scheduleWrite: async () => {},
    scheduleRemove: async ({ incarnation }: { readonly incarnation: string }) => void gone.push(incarnation),
  })
  const sender = new ScheduleOrderSender(tables as ObjectSchedule, {} as ObjectNetwork, new ShardLayout(), shard, () => 1_000, silentLogger)
  sender.send(() => {})
  await macrotask()
  expect([gone, sender.retryAt]).toEqual([["second", "first"], undefined])
})
