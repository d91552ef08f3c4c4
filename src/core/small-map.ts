/**
 * A map from ids for a few entries that come and go, in the order of insertion. A `Map` makes itself a new table each time
 * its last entry leaves, which for the open asks of a workflow is at every step; here few entries live in two arrays, and
 * only many move to a Map, for good.
 */
export class SmallMap<V> {
  readonly #keys: string[] = []
  readonly #values: V[] = []
  #large: Map<string, V> | undefined

  get size(): number {
    return this.#large ? this.#large.size : this.#keys.length
  }

  has(key: string): boolean {
    return this.#large ? this.#large.has(key) : this.#keys.includes(key)
  }

  get(key: string): V | undefined {
    if (this.#large) return this.#large.get(key)
    const index = this.#keys.indexOf(key)
    return index < 0 ? undefined : this.#values[index]
  }

  set(key: string, value: V): void {
    if (this.#large) return void this.#large.set(key, value)
    const index = this.#keys.indexOf(key)
    if (index >= 0) this.#values[index] = value
    else if (this.#keys.length < smallMax) {
      this.#keys.push(key)
      this.#values.push(value)
    } else this.#grow().set(key, value)
  }

  delete(key: string): boolean {
    if (this.#large) return this.#large.delete(key)
    const keys = this.#keys
    const index = keys.indexOf(key)
    if (index < 0) return false
    const values = this.#values
    for (let at = index + 1; at < keys.length; at++) {
      keys[at - 1] = keys[at]!
      values[at - 1] = values[at]!
    }
    keys.pop()
    values.pop()
    return true
  }

  clear(): void {
    this.#large = undefined
    this.#keys.length = 0
    this.#values.length = 0
  }

  /** A copy: the map may change while it is gone through. */
  keys(): readonly string[] {
    return this.#large ? [...this.#large.keys()] : this.#keys.slice()
  }

  values(): readonly V[] {
    return this.#large ? [...this.#large.values()] : this.#values.slice()
  }

  /** Whether a value is like that, without a copy. */
  some(test: (value: V) => boolean): boolean {
    if (!this.#large) return this.#values.some(test)
    for (const value of this.#large.values()) if (test(value)) return true
    return false
  }

  #grow(): Map<string, V> {
    const large = new Map<string, V>()
    for (const [index, key] of this.#keys.entries()) large.set(key, this.#values[index]!)
    this.#keys.length = 0
    this.#values.length = 0
    this.#large = large
    return large
  }
}

const smallMax = 8
