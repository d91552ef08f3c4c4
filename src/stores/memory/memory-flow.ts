import { MinHeap } from "../../core/collections/min-heap.ts"
import type { FlowTraits, LimitUse, UniqueUse } from "../../ports/flow-control.ts"
import type { LimitNumbers } from "../shared/flow-rows.ts"
import { Admission, type FlowRecord, type FlowRows } from "../shared/slot-admission.ts"
import type { MemoryInstance } from "./memory-database.ts"

/** The numbers of a limit: as declared by the workflow, and as set instead. */
export interface MemoryLimit {
  readonly declared: LimitNumbers
  readonly override: LimitNumbers | undefined
}

export interface MemoryFlowRecord extends FlowRecord {
  readonly instance: MemoryInstance
  /** The last place that the instance got in a queue. */
  place: QueuePlace | undefined
}

interface QueuePlace {
  readonly record: MemoryFlowRecord
  readonly priority: number
  readonly seq: number
}

/** The slots, queues, rates and unique keys of a memory store. */
export class MemoryFlow implements FlowRows<MemoryFlowRecord> {
  readonly admission: Admission<MemoryFlowRecord> = new Admission(this)
  /** By workflow and name of the limit. */
  readonly limits = new Map<string, Map<string, MemoryLimit>>()
  readonly unique = new Map<string, MemoryInstance>()
  readonly slots = new Map<string, Set<MemoryFlowRecord>>()
  /** Places that an instance has left stay in the heap, and are dropped when they come first. */
  readonly #queues = new Map<string, MinHeap<QueuePlace>>()
  readonly #tats = new Map<string, number>()
  #tatsMax = 1_000
  readonly #now: () => number
  readonly #onChange: (record: MemoryFlowRecord) => void
  #seq = 0
  /** Instances that were admitted, or got a time to start at, since the last notification. */
  admittedIds: string[] = []

  /** `onChange` is called when the sets that the instance belongs to may have changed. */
  constructor(now: () => number, onChange: (record: MemoryFlowRecord) => void) {
    this.#now = now
    this.#onChange = onChange
  }

  recordOf(instance: MemoryInstance, { limits, priority = 0 }: FlowTraits): MemoryFlowRecord | undefined {
    if (limits === undefined || limits.length === 0) return undefined
    return {
      instance,
      key: instance.key,
      priority,
      get isCancelling() {
        return instance.row.phase === "cancelling"
      },
      uses: limits,
      limitsHeld: 0,
      isStartCounted: false,
      place: undefined,
      ...notQueued,
    }
  }

  areUniqueKeysFree(uses: readonly UniqueUse[]): boolean {
    return uses.every((use) => !this.unique.has(uniqueKey(use)))
  }

  /** False: another instance has one of the keys. */
  acquireUniqueKeys(instance: MemoryInstance, uses: readonly UniqueUse[]): boolean {
    const isFree = (use: UniqueUse) => (this.unique.get(uniqueKey(use)) ?? instance) === instance
    if (!uses.every(isFree)) return false
    for (const use of uses) this.unique.set(uniqueKey(use), instance)
    return true
  }

  releaseUniqueKeys(instance: MemoryInstance, kinds: readonly UniqueUse["kind"][]): void {
    for (const use of instance.row.flow?.unique ?? [])
      if (kinds.includes(use.kind) && this.unique.get(uniqueKey(use)) === instance) this.unique.delete(uniqueKey(use))
  }

  now(): number {
    return this.#now()
  }

  numbers(use: LimitUse): LimitNumbers {
    const limit = this.limits.get(use.workflow)?.get(use.name)
    return limit?.override ?? limit?.declared ?? use
  }

  slotsInUse(limitKey: string): number {
    return this.slots.get(limitKey)?.size ?? 0
  }

  holder(limitKey: string): MemoryFlowRecord | undefined {
    return this.slots.get(limitKey)?.values().next().value
  }

  addHolder(limitKey: string, record: MemoryFlowRecord): void {
    const holders = this.slots.get(limitKey) ?? new Set()
    this.slots.set(limitKey, holders.add(record))
  }

  removeHolder(limitKey: string, record: MemoryFlowRecord): void {
    const holders = this.slots.get(limitKey)
    holders?.delete(record)
    if (holders?.size === 0) this.slots.delete(limitKey)
  }

  firstQueued(limitKey: string): MemoryFlowRecord | undefined {
    const queue = this.#queues.get(limitKey)
    for (let place = queue?.peek(); place !== undefined; place = queue?.peek()) {
      if (isCurrent(place, limitKey)) return place.record
      queue?.pop()
    }
    this.#queues.delete(limitKey)
    return undefined
  }

  nextQueueSeq(): number {
    return ++this.#seq
  }

  tat(limitKey: string): number | undefined {
    return this.#tats.get(limitKey)
  }

  setTat(limitKey: string, tat: number): void {
    this.#tats.set(limitKey, tat)
    if (this.#tats.size < this.#tatsMax) return
    // A time that has passed limits no start any more.
    for (const [key, at] of this.#tats) if (at <= this.#now()) this.#tats.delete(key)
    this.#tatsMax = Math.max(1_000, this.#tats.size * 2)
  }

  save(record: MemoryFlowRecord): void {
    const { queuedFor, queuedPriority: priority, queuedSeq: seq } = record
    if (queuedFor !== undefined) {
      const queue = this.#queues.get(queuedFor) ?? new MinHeap<QueuePlace>((a, b) => a.priority > b.priority || (a.priority === b.priority && a.seq < b.seq))
      this.#queues.set(queuedFor, queue)
      if (record.place?.seq !== seq || record.place.priority !== priority) queue.push((record.place = { record, priority, seq }))
    }
    this.#onChange(record)
  }

  onAdmitted(record: MemoryFlowRecord): void {
    const { instance } = record
    instance.row = { ...instance.row, dueAt: Math.min(instance.row.dueAt ?? this.#now(), this.#now()) }
    this.admittedIds.push(instance.row.id)
    this.#onChange(record)
  }

  onStartScheduled({ instance }: MemoryFlowRecord): void {
    this.admittedIds.push(instance.row.id)
  }

  /** The limit keys of a workflow's limit for which an instance queues. */
  queuedKeys(workflow: string, name: string): string[] {
    const limitKey = `${workflow}/${name}`
    return [...this.#queues.keys()].filter((key) => (key === limitKey || key.startsWith(`${limitKey}/`)) && this.firstQueued(key) !== undefined)
  }

  /** How many instances are before this one in its queue. */
  ahead({ queuedFor, queuedPriority, queuedSeq }: MemoryFlowRecord, all: Iterable<MemoryInstance>): number {
    let count = 0
    for (const { flow } of all) {
      if (flow === undefined || flow.queuedFor !== queuedFor) continue
      if (flow.queuedPriority > queuedPriority || (flow.queuedPriority === queuedPriority && flow.queuedSeq < queuedSeq)) count++
    }
    return count
  }
}

const notQueued = { queuedFor: undefined, queuedPriority: 0, queuedSeq: 0, queuedUntil: undefined }

function isCurrent({ record, priority, seq }: QueuePlace, limitKey: string): boolean {
  return record.queuedFor === limitKey && record.queuedPriority === priority && record.queuedSeq === seq
}

export function uniqueKey({ kind, key }: UniqueUse): string {
  return `${kind} ${key}`
}
