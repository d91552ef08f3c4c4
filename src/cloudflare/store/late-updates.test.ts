// What comes in the moment in which a sender has found that all is told, and before it says so, is told as well: whenever that moment is.

import { setImmediate as macrotask } from "node:timers/promises"
import { expect, it } from "vitest"
import { silentLogger } from "../../hosts/silent-logger.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import type { LimitKey } from "../../ports/cloudflare/limit-key.ts"
import type { ObjectNetwork } from "../../ports/cloudflare/object-network.ts"
import type { SlotRequests } from "../../ports/cloudflare/slot-requests.ts"
import type { ObjectSchedule, ScheduleOrder } from "../../ports/cloudflare/object-schedule.ts"
import type { ObjectTables } from "../../ports/cloudflare/object-tables.ts"
import { IndexPublisher } from "./index-publisher.ts"
import { ScheduleOrderSender } from "./schedule-order-sender.ts"
import { SlotRequester } from "./slot-requester.ts"
import { ShardLayout } from "./shard-layout.ts"

const layout = new ShardLayout()
const moments = Array.from({ length: 12 }, (_, microtasks) => microtasks)

/** Calls back once, so many microtasks after the first call. */
function onceAfter(microtasks: number, call: () => void): () => void {
  let isCalled = false
  return () => {
    if (isCalled) return
    isCalled = true
    void (async () => {
      for (let n = 0; n < microtasks; n++) await Promise.resolve()
      call()
    })()
  }
}

it.each(moments)("the index hears of a change %i microtasks after it has heard", async (microtasks) => {
  const row: InstanceRow = {
    id: "i",
    incarnation: "x",
    workflow: "w",
    version: "1",
    createdAt: 1,
    updatedAt: 1,
    tags: [],
    status: "sleeping",
    run: 1,
    runPosition: 1,
  }
  let wanted = 1
  let known = 0
  const change = onceAfter(microtasks, () => {
    wanted = 2
    sender.send(() => {})
  })
  const tables: Partial<ObjectTables> = {
    isThere: () => true,
    summary: () => ({ id: "i", incarnation: "x", status: "sleeping", isOwned: false, hasMessages: false }),
    indexBacklog: () => ({ indexedUpTo: known, shard: "s", removed: [], ...(wanted > known ? { pendingUpTo: wanted } : undefined) }),
    indexCopy: () => ({ row, rows: [], revision: wanted }),
    markIndexed: (revision) => {
      known = revision
      change()
    },
  }
  const shard = () => ({ indexWrite: async () => {}, indexRemove: async () => {} })
  const sender = new IndexPublisher({
    tables: tables as ObjectTables,
    layout,
    shardOf: shard,
    now: Date.now,
    log: silentLogger,
    onEnded: async () => {},
    setTimer: (run) => {
      queueMicrotask(run)
      return () => {}
    },
  })
  sender.send(() => {})
  await macrotask()
  expect([known, sender.retryAt]).toEqual([2, undefined])
})

it.each(moments)("a schedule's order is carried out that comes %i microtasks after the one before", async (microtasks) => {
  const order = (instance: string) => ({ message: { instance, kind: "terminate", at: 1 } }) as unknown as ScheduleOrder
  let orders = [{ seq: 1, order: order("a") }]
  const carriedOut: string[] = []
  const further = onceAfter(microtasks, () => {
    orders = [...orders, { seq: 2, order: order("b") }]
    sender.send(() => {})
  })
  const tables: Partial<ObjectSchedule> = {
    isThere: () => true,
    orders: () => orders,
    done: (seq) => {
      orders = orders.filter((one) => one.seq !== seq)
      further()
    },
    row: () => undefined,
    indexed: () => ({ revision: 0, incarnation: undefined, removed: undefined }) as unknown as ReturnType<ObjectSchedule["indexed"]>,
  }
  const network = { peer: (id: string) => ({ deliver: async () => void carriedOut.push(id) }) } as unknown as ObjectNetwork
  const shard = () => ({ scheduleWrite: async () => {}, scheduleRemove: async () => {} })
  const sender = new ScheduleOrderSender(tables as ObjectSchedule, network, layout, shard, Date.now, silentLogger)
  sender.send(() => {})
  await macrotask()
  expect([carriedOut, sender.retryAt]).toEqual([["a", "b"], undefined])
})

it.each(moments)("a slot goes back that is not wanted any more %i microtasks after another one", async (microtasks) => {
  const member = { id: "i", incarnation: "x" }
  let gives = [{ key: "a", member }]
  const given: string[] = []
  const another = onceAfter(microtasks, () => {
    gives = [...gives, { key: "b", member }]
    sender.send(() => {})
  })
  const permits: Partial<SlotRequests> = {
    work: () => ({ asks: [], gives }),
    returned: (key) => {
      gives = gives.filter((give) => give.key !== key)
      another()
    },
  }
  const limit = (key: string) => ({ slotGive: async () => void given.push(key) }) as unknown as LimitKey
  const sender = new SlotRequester(permits as SlotRequests, limit, Date.now, silentLogger)
  sender.send(() => {})
  await macrotask()
  expect([given, sender.retryAt]).toEqual([["a", "b"], undefined])
})

it.each(moments)("whoever waits for a schedule's orders waits for one that comes %i microtasks after another, too", async (microtasks) => {
  const orders = [1]
  const carriedOut: number[] = []
  const further = onceAfter(microtasks, () => {
    orders.push(2)
    sender.send(() => {})
    void sender.settled().then(() => carriedOut.push(0))
  })
  const tables: Partial<ObjectSchedule> = {
    isThere: () => true,
    orders: () => orders.map((seq) => ({ seq, order: { message: { instance: String(seq), kind: "terminate", at: 1 } } as unknown as ScheduleOrder })),
    done: (seq) => {
      orders.splice(orders.indexOf(seq), 1)
      further()
    },
    row: () => undefined,
    indexed: () => ({ revision: 0, incarnation: undefined, removed: undefined }) as unknown as ReturnType<ObjectSchedule["indexed"]>,
  }
  const deliver = async (id: string) => {
    await macrotask()
    carriedOut.push(Number(id))
  }
  const network = { peer: (id: string) => ({ deliver: () => deliver(id) }) } as unknown as ObjectNetwork
  const sender = new ScheduleOrderSender(
    tables as ObjectSchedule,
    network,
    layout,
    () => ({ scheduleWrite: async () => {}, scheduleRemove: async () => {} }),
    Date.now,
    silentLogger,
  )
  sender.send(() => {})
  for (let turns = 0; turns < 6; turns++) await macrotask()
  expect(carriedOut).toEqual([1, 2, 0])
})
