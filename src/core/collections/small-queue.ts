/** After this many items were taken, the array is shortened. */
const takenMin = 1_024

/**
 * A first-in, first-out queue that has one item in most cases. That item is kept in a field, because an array that is emptied at every step would be
 * allocated again at every step.
 */
export class SmallQueue<T extends object> {
  #head: T | undefined = undefined
  #rest: T[] | undefined = undefined
  /** How many items of `#rest` were taken. */
  #taken = 0

  get size(): number {
    return (this.#head === undefined ? 0 : 1) + (this.#rest === undefined ? 0 : this.#rest.length - this.#taken)
  }

  peek(): T | undefined {
    return this.#head
  }

  push(item: T): void {
    if (this.#head === undefined) this.#head = item
    else if (this.#rest) this.#rest.push(item)
    else this.#rest = [item]
  }

  /** Puts items before all others. */
  unshift(items: readonly T[]): void {
    const others = this.items()
    this.#clear()
    for (const item of [...items, ...others]) this.push(item)
  }

  shift(): T | undefined {
    const head = this.#head
    if (this.#rest === undefined) {
      this.#head = undefined
      return head
    }
    this.#head = this.#rest[this.#taken++]
    if (this.#taken === this.#rest.length) {
      this.#rest = undefined
      this.#taken = 0
    } else if (this.#taken >= takenMin && this.#taken * 2 >= this.#rest.length) {
      // A queue that never becomes empty must not keep its old items.
      this.#rest = this.#rest.slice(this.#taken)
      this.#taken = 0
    }
    return head
  }

  /** Removes an item at any place. */
  remove(item: T): void {
    const items = this.items().filter((other) => other !== item)
    this.#clear()
    for (const other of items) this.push(other)
  }

  #clear(): void {
    this.#head = undefined
    this.#rest = undefined
    this.#taken = 0
  }

  /** A copy of the items, in order. */
  items(): readonly T[] {
    if (this.#head === undefined) return []
    return this.#rest === undefined ? [this.#head] : [this.#head, ...this.#rest.slice(this.#taken)]
  }
}
