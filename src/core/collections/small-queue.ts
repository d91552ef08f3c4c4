/** So many are taken before their places are given up. */
const takenMin = 1_024

/**
 * First in, first out, for what mostly holds one item at a time: that one lives in a field, as an array that is emptied at
 * every step is made anew at every step.
 */
export class SmallQueue<T extends object> {
  #head: T | undefined = undefined
  #rest: T[] | undefined = undefined
  /** How many of `#rest` are taken. */
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

  /** These go before all others. */
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
      // One that is never empty must not keep all that it ever held.
      this.#rest = this.#rest.slice(this.#taken)
      this.#taken = 0
    }
    return head
  }

  /** Takes out one that need not be the first. */
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

  /** A copy, in order. */
  items(): readonly T[] {
    if (this.#head === undefined) return []
    return this.#rest === undefined ? [this.#head] : [this.#head, ...this.#rest.slice(this.#taken)]
  }
}
