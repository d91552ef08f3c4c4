import type { Logger } from "../../ports/host.ts"
import type { ScheduleIndex } from "../../ports/cloudflare/index-shard.ts"
import type { ObjectNetwork } from "../../ports/cloudflare/object-network.ts"
import type { ObjectSchedule, ScheduleOrder } from "../../ports/cloudflare/object-schedule.ts"
import { RetryingTask } from "./retrying-task.ts"
import type { ShardLayout } from "./shard-layout.ts"

const retryMs = 500
const batchMax = 20

export type ScheduleShards = (name: string) => Pick<ScheduleIndex, "scheduleWrite" | "scheduleRemove">

/** Carries out what a schedule has ordered, and tells the index how the schedule is now; both until it is done. */
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

  /** Resolves when what is ordered is carried out, or has to be tried again. */
  async settled(): Promise<void> {
    // Whoever came while it was under way is heard by the next one, which has begun when the last has ended.
    for (let last: Promise<void> | undefined; last !== this.#task.last;) {
      last = this.#task.last
      await last
    }
  }

  async #sendAll(): Promise<undefined> {
    for (;;) {
      const orders = this.#tables.orders(batchMax)
      for (const { seq, order } of orders) {
        await this.#carryOut(order)
        this.#tables.done(seq)
      }
      if (orders.length > 0) continue
      if (!this.#hasNews()) return
      await this.#index()
    }
  }

  /** Lost: another instance has the id, or a key. Either way nothing is left to be done. */
  async #carryOut({ create, message }: ScheduleOrder): Promise<void> {
    if (create) await this.#network.peer(create.instance).create(create)
    else await this.#network.peer(message.instance).deliver([message])
  }

  #hasNews(): boolean {
    const { revision, incarnation, removed } = this.#tables.indexed()
    const row = this.#tables.row()
    return removed !== undefined || (row !== undefined && (row.incarnation !== incarnation || row.revision > revision))
  }

  async #index(): Promise<void> {
    const { removed, incarnation: told } = this.#tables.indexed()
    if (removed) {
      const { id } = removed
      // Also the one that the index was told of: its own removal may not have been heard before another schedule had the id, and was deleted, too.
      const gone = new Set([removed.incarnation, told ?? removed.incarnation])
      gone.delete(this.#tables.row()?.incarnation ?? "")
      // In every layout: where the number of shards has changed, old ones may have it still.
      for (const name of this.#layout.names(id).flat()) for (const incarnation of gone) await this.#shard(name).scheduleRemove({ id, incarnation })
      if (this.#tables.indexed().removed?.incarnation === removed.incarnation) this.#tables.removed(undefined)
    }
    const row = this.#tables.row()
    if (row === undefined) return
    await this.#shard(this.#layout.shardOf(row.id)).scheduleWrite(row)
    this.#tables.setIndexed(row)
  }
}
