import type { LimitUse } from "../../../ports/flow-control.ts"
import type { FlowRows } from "../../shared/slot-admission.ts"
import type { LimitNumbers } from "../../shared/flow-rows.ts"
import type { StoredFlowRecord } from "../../shared/flow-rows.ts"

/** Thrown when the algorithm asks for rows that were not read yet. */
export class NotLoaded extends Error {
  readonly want: Want

  constructor(want: Want) {
    super("rows of flow control are to be read first")
    this.want = want
  }
}

export type Want = { readonly limitKey: string; readonly queuedMax: number } | { readonly seq: true }

/** The state of one limit key, as it was read. */
export interface ReadKey {
  readonly used: number
  readonly holder: StoredFlowRecord | undefined
  readonly tat: number | undefined
  /** The first instances that are queued for a slot. */
  readonly queue: readonly StoredFlowRecord[]
  readonly isWholeQueue: boolean
}

/** Rows that were read in a transaction. The locks of the workflows keep other transactions from changing them meanwhile. */
export interface FlowReading {
  readonly now: number
  readonly keys: Map<string, ReadKey>
  readonly numbers: Map<string, LimitNumbers>
  seq: number | undefined
}

/**
 * The rows of flow control in memory: the rows that were read, and above them the changes of the algorithm. The algorithm is synchronous, and reading from
 * PostgreSQL is not. If a row is missing, the session reads it, and the algorithm runs again from the start with a new cache.
 */
export class FlowReadCache implements FlowRows<StoredFlowRecord> {
  readonly records = new Map<number, StoredFlowRecord>()
  readonly saved = new Set<StoredFlowRecord>()
  /** By limit key: the instances that take a slot, and the instances that release one. */
  readonly taken = new Map<string, Set<number>>()
  readonly released = new Map<string, Set<number>>()
  readonly tats = new Map<string, number>()
  readonly dueNow = new Set<StoredFlowRecord>()
  readonly admitted: string[] = []
  readonly #reading: FlowReading
  #seqs = 0

  constructor(reading: FlowReading) {
    this.#reading = reading
  }

  /** The one object that stands for the instance in this cache. */
  recordFor(record: StoredFlowRecord): StoredFlowRecord {
    const known = this.records.get(record.key)
    if (known) return known
    const copy = { ...record }
    this.records.set(record.key, copy)
    return copy
  }

  now(): number {
    return this.#reading.now
  }

  numbers(use: LimitUse): LimitNumbers {
    return this.#reading.numbers.get(`${use.workflow}/${use.name}`) ?? use
  }

  slotsInUse(limitKey: string): number {
    return this.#read(limitKey).used + (this.taken.get(limitKey)?.size ?? 0) - (this.released.get(limitKey)?.size ?? 0)
  }

  holder(limitKey: string): StoredFlowRecord | undefined {
    for (const key of this.taken.get(limitKey) ?? []) return this.records.get(key)
    const { holder } = this.#read(limitKey)
    return holder === undefined || this.released.get(limitKey)?.has(holder.key) ? undefined : this.recordFor(holder)
  }

  addHolder(limitKey: string, { key }: StoredFlowRecord): void {
    if (this.released.get(limitKey)?.delete(key)) return
    ofKey(this.taken, limitKey).add(key)
  }

  removeHolder(limitKey: string, { key }: StoredFlowRecord): void {
    if (this.taken.get(limitKey)?.delete(key)) return
    ofKey(this.released, limitKey).add(key)
  }

  firstQueued(limitKey: string): StoredFlowRecord | undefined {
    const { queue, isWholeQueue } = this.#read(limitKey)
    let first: StoredFlowRecord | undefined
    for (const record of this.records.values()) if (record.queuedFor === limitKey && (first === undefined || isBefore(record, first))) first = record
    for (const stored of queue) {
      if (this.records.has(stored.key)) continue
      return first !== undefined && isBefore(first, stored) ? first : this.recordFor(stored)
    }
    // Instances that were not read may be before it in the queue.
    if (!isWholeQueue) throw new NotLoaded({ limitKey, queuedMax: queue.length * 4 })
    return first
  }

  nextQueueSeq(): number {
    const { seq } = this.#reading
    if (seq === undefined) throw new NotLoaded({ seq: true })
    return seq + this.#seqs++
  }

  tat(limitKey: string): number | undefined {
    return this.tats.get(limitKey) ?? this.#read(limitKey).tat
  }

  setTat(limitKey: string, tat: number): void {
    this.tats.set(limitKey, tat)
  }

  save(record: StoredFlowRecord): void {
    this.saved.add(record)
  }

  onAdmitted(record: StoredFlowRecord): void {
    if (record.dueAt === undefined || record.dueAt > this.now()) this.dueNow.add(record)
    this.admitted.push(record.id)
  }

  onStartScheduled({ id }: StoredFlowRecord): void {
    this.admitted.push(id)
  }

  #read(limitKey: string): ReadKey {
    const read = this.#reading.keys.get(limitKey)
    if (read === undefined) throw new NotLoaded({ limitKey, queuedMax: 8 })
    return read
  }
}

function isBefore(a: StoredFlowRecord, b: StoredFlowRecord): boolean {
  return a.queuedPriority > b.queuedPriority || (a.queuedPriority === b.queuedPriority && a.queuedSeq < b.queuedSeq)
}

function ofKey(sets: Map<string, Set<number>>, limitKey: string): Set<number> {
  const known = sets.get(limitKey)
  if (known) return known
  const made = new Set<number>()
  sets.set(limitKey, made)
  return made
}
