import { storedQueue } from "../../core/workflow/task-queue.ts"
import type { ChangePage, ChangeRow } from "../../ports/change-stream.ts"
import { changePlace, checkPlace, firstPlace, fromChangeCursor, toChangeCursor, type ChangePlace } from "../shared/change-cursor.ts"
import type { MemoryInstance } from "./memory-database.ts"

/** The rows of all journals in the order of their commits: for each number, the instance that has the row. */
export class MemoryChanges {
  #seqs: number[] = []
  #owners: MemoryInstance[] = []
  #removed = 0
  #latest: ChangePlace = firstPlace

  /** Call this after a row was added to the instance's journal. */
  add(instance: MemoryInstance): void {
    const seq = this.#latest.seq + 1
    this.#latest = changePlace(seq, instance.journal.at(-1)?.turn ?? "")
    instance.seqs.push(seq)
    this.#seqs.push(seq)
    this.#owners.push(instance)
  }

  /** No number is given again. The arrays are compacted once half of their places belong to removed instances. */
  remove(instance: MemoryInstance): void {
    this.#removed += instance.seqs.length
    instance.seqs.length = 0
    if (this.#removed <= this.#seqs.length / 2) return
    const kept = this.#owners.map((owner) => owner.seqs.length > 0)
    this.#seqs = this.#seqs.filter((_, at) => kept[at])
    this.#owners = this.#owners.filter((_, at) => kept[at])
    this.#removed = 0
  }

  get latest(): string {
    return toChangeCursor(this.#latest)
  }

  read(after: string | undefined, limit: number, instance: MemoryInstance | "all" | undefined): ChangePage {
    const place = after === undefined ? firstPlace : fromChangeCursor(after)
    checkPlace(place, this.#latest, this.#turnAt(place.seq))
    const rows = instance === "all" ? this.#after(place.seq, limit) : instance === undefined ? [] : rowsAfter(instance, place.seq, limit)
    const last = rows.at(-1)
    return { rows, cursor: rows.length < limit || last === undefined ? this.latest : last.cursor }
  }

  #after(seq: number, limit: number): ChangeRow[] {
    const rows: ChangeRow[] = []
    for (let at = firstAfter(this.#seqs, seq); at < this.#seqs.length && rows.length < limit; at++) {
      const row = changeRowOf(this.#owners[at], this.#seqs[at])
      if (row) rows.push(row)
    }
    return rows
  }

  #turnAt(seq: number): string | undefined {
    const at = firstAfter(this.#seqs, seq - 1)
    return this.#seqs[at] === seq ? changeRowOf(this.#owners[at], seq)?.turn : undefined
  }
}

function rowsAfter(instance: MemoryInstance, seq: number, limit: number): ChangeRow[] {
  const from = firstAfter(instance.seqs, seq)
  return instance.seqs.slice(from, from + limit).flatMap((one) => changeRowOf(instance, one) ?? [])
}

function changeRowOf(owner: MemoryInstance | undefined, seq: number | undefined): ChangeRow | undefined {
  if (owner === undefined || seq === undefined) return undefined
  const at = firstAfter(owner.seqs, seq - 1)
  const row = owner.journal[at]
  if (row === undefined || owner.seqs[at] !== seq) return undefined
  const { id, incarnation, workflow, version, queue } = owner.row
  const identity = { instance: id, incarnation, workflow, version, ...storedQueue(queue) }
  return { ...row, ...identity, cursor: toChangeCursor(changePlace(seq, row.turn)) }
}

/** The index of the first number above `seq` in an ascending list. */
function firstAfter(seqs: readonly number[], seq: number): number {
  let low = 0
  let high = seqs.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((seqs[middle] ?? Infinity) <= seq) low = middle + 1
    else high = middle
  }
  return low
}
