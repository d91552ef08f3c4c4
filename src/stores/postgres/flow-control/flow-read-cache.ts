import type { LimitUse } from "../../../ports/flow-control.ts"
import type { FlowRows } from "../../shared/slot-admission.ts"
import type { LimitNumbers } from "../../shared/flow-rows.ts"
import type { StoredFlowRecord } from "../../shared/flow-rows.ts"

/** Thrown where the algorithm asks for what was not read yet. */
export class NotLoaded extends Error {
  readonly want: Want

  constructor(want: Want) {
    super("rows of flow control are to be read first")
    this.want = want
  }
}

export type Want = { readonly limitKey: string; readonly places: number } | { readonly seq: true }

/** What was read of one limit key. */
export interface ReadKey {
  readonly used: number
  readonly holder: StoredFlowRecord | undefined
  readonly tat: number | undefined
  /** The first of the line. */
  readonly line: readonly StoredFlowRecord[]
  readonly isWholeLine: boolean
}

/** What was read in a transaction. Nobody else changes it meanwhile: the locks of the workflows see to that. */
export interface FlowReading {
  readonly now: number
  readonly keys: Map<string, ReadKey>
  readonly numbers: Map<string, LimitNumbers>
  seq: number | undefined
}

/**
 * The rows of flow control in memory: what was read, and over it what the algorithm made of it. The algorithm is synchronous and
 * PostgreSQL is not: where something is missing, it is read, and the algorithm runs again from the start on a new draft.
 */
export class FlowReadCache implements FlowRows<StoredFlowRecord> {
  readonly records = new Map<number, StoredFlowRecord>()
  readonly saved = new Set<StoredFlowRecord>()
  /** By limit key: who takes a slot, who gives one back. */
  readonly taken = new Map<string, Set<number>>()
  readonly given = new Map<string, Set<number>>()
  readonly tats = new Map<string, number>()
  readonly dueNow = new Set<StoredFlowRecord>()
  readonly letIn: string[] = []
  readonly #reading: FlowReading
  #seqs = 0

  constructor(reading: FlowReading) {
    this.#reading = reading
  }

  /** The one object that stands for the instance in this draft. */
  own(record: StoredFlowRecord): StoredFlowRecord {
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
    return this.#read(limitKey).used + (this.taken.get(limitKey)?.size ?? 0) - (this.given.get(limitKey)?.size ?? 0)
  }

  holder(limitKey: string): StoredFlowRecord | undefined {
    for (const key of this.taken.get(limitKey) ?? []) return this.records.get(key)
    const { holder } = this.#read(limitKey)
    return holder === undefined || this.given.get(limitKey)?.has(holder.key) ? undefined : this.own(holder)
  }

  addHolder(limitKey: string, { key }: StoredFlowRecord): void {
    if (this.given.get(limitKey)?.delete(key)) return
    ofKey(this.taken, limitKey).add(key)
  }

  removeHolder(limitKey: string, { key }: StoredFlowRecord): void {
    if (this.taken.get(limitKey)?.delete(key)) return
    ofKey(this.given, limitKey).add(key)
  }

  firstQueued(limitKey: string): StoredFlowRecord | undefined {
    const { line, isWholeLine } = this.#read(limitKey)
    let first: StoredFlowRecord | undefined
    for (const record of this.records.values()) if (record.queuedFor === limitKey && (first === undefined || isBefore(record, first))) first = record
    for (const stored of line) {
      if (this.records.has(stored.key)) continue
      return first !== undefined && isBefore(first, stored) ? first : this.own(stored)
    }
    // Behind those that were read there may be others before it.
    if (!isWholeLine) throw new NotLoaded({ limitKey, places: line.length * 4 })
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
    this.letIn.push(record.id)
  }

  onStartScheduled({ id }: StoredFlowRecord): void {
    this.letIn.push(id)
  }

  #read(limitKey: string): ReadKey {
    const read = this.#reading.keys.get(limitKey)
    if (read === undefined) throw new NotLoaded({ limitKey, places: 8 })
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
