import type { Logger } from "../../ports/host.ts"
import type { ScheduleIndex } from "../../ports/cloudflare/index-shard.ts"
import type { ObjectNetwork } from "../../ports/cloudflare/object-network.ts"
import type { ObjectSchedule, ScheduleOrder } from "../../ports/cloudflare/object-schedule.ts"
import { RetryingTask } from "./retrying-task.ts"
import type { ShardLayout } from "./shard-layout.ts"

const retryMs = 500
const batchMax = 20

export type ScheduleShards = (name: string) => Pick<ScheduleIndex, "scheduleWrite" | "scheduleRemove">

/** Sends the orders of a schedule to the objects of their instances, and the schedule's row to the index. Both are retried until they succeed. */
export class ScheduleOrderSender {
  readonly #tables: ObjectSchedule
  readonly #network: ObjectNetwork
  readonly #layout: ShardLayout
  readonly #shard: ScheduleShards
  readonly #task: RetryingTask

  constructor(tables: ObjectSchedule, network: ObjectNetwork, layout: ShardLayout, shard: ScheduleShards, now: () => number, log: Logger) {
    this.#tables = tables
    this.#network = network
    this.#layout = layout
    this.#shard = shard
    this.#task = new RetryingTask({ now, log, retryMs, failure: "what a schedule ordered could not be carried out" })
  }

  get retryAt(): number | undefined {
    return this.#task.retryAt
  }

  send(onDone: () => void, isRetry = false): void {
    if (!this.#tables.isThere() || !this.#task.tryStart(isRetry)) return
    if (this.#tables.orders(1).length === 0 && !this.#hasNews()) return this.#task.idleUntil()
    this.#task.begin(
      () => this.#sendAll(),
      () => this.send(onDone),
      onDone,
    )
  }

  /** Resolves when all orders are sent, or when one has failed. */
  async settled(): Promise<void> {
    // A request during a run starts the next run before the promise of the first one resolves.
    for (let last: Promise<void> | undefined; last !== this.#task.settled;) {
      last = this.#task.settled
      await last
    }
  }

  async #sendAll(): Promise<undefined> {
    for (;;) {
      const orders = this.#tables.orders(batchMax)
      for (const { seq, order } of orders) {
        await this.#sendOrder(order)
        this.#tables.done(seq)
      }
      if (orders.length > 0) continue
      if (!this.#hasNews()) return
      await this.#publishSchedule()
    }
  }

  /** Sends one order. The outcome `lost` needs no action: another instance has the id or a unique key. */
  async #sendOrder({ create, message }: ScheduleOrder): Promise<void> {
    if (create) await this.#network.peer(create.instance).create(create)
    else await this.#network.peer(message.instance).deliver([message])
  }

  #hasNews(): boolean {
    const { revision, incarnation, removed } = this.#tables.indexed()
    const row = this.#tables.row()
    return removed !== undefined || (row !== undefined && (row.incarnation !== incarnation || row.revision > revision))
  }

  async #publishSchedule(): Promise<void> {
    const { removed, incarnation: indexedIncarnation } = this.#tables.indexed()
    if (removed) {
      const { id } = removed
      // The incarnation in the index is removed too. Its own removal may have failed before a later schedule with the same id was created and deleted.
      const gone = new Set([removed.incarnation, indexedIncarnation ?? removed.incarnation])
      gone.delete(this.#tables.row()?.incarnation ?? "")
      // The shards of every layout are called: after a change of their number, an old shard may still list the schedule.
      for (const name of this.#layout.names(id).flat()) for (const incarnation of gone) await this.#shard(name).scheduleRemove({ id, incarnation })
      if (this.#tables.indexed().removed?.incarnation === removed.incarnation) this.#tables.removed(undefined)
    }
    const row = this.#tables.row()
    if (row === undefined) return
    await this.#shard(this.#layout.shardOf(row.id)).scheduleWrite(row)
    this.#tables.setIndexed(row)
  }
}
