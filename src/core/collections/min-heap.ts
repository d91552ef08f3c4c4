/** A binary heap that gives the least item first, by the given order. */
export class MinHeap<T> {
  readonly #items: T[] = []
  readonly #before: (a: T, b: T) => boolean

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before
  }

  get size(): number {
    return this.#items.length
  }

  peek(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    const items = this.#items
    let index = items.push(item) - 1
    while (index > 0) {
      const above = (index - 1) >> 1
      if (!this.#before(item, items[above]!)) break
      items[index] = items[above]!
      index = above
    }
    items[index] = item
  }

  pop(): T | undefined {
    const items = this.#items
    const least = items[0]
    const last = items.pop()
    if (items.length === 0 || last === undefined) return least
    let index = 0
    for (;;) {
      let below = 2 * index + 1
      if (below >= items.length) break
      if (below + 1 < items.length && this.#before(items[below + 1]!, items[below]!)) below++
      if (!this.#before(items[below]!, last)) break
      items[index] = items[below]!
      index = below
    }
    items[index] = last
    return least
  }
}
