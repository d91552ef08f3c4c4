/** Stands in the place of the only key where there is a Map. */
const many = Symbol("many")

/**
 * A map from ids for entries that come and go, in the order of insertion. Most workflows have one open ask at a time, and
 * each instance in memory has several such maps: a single entry lives in two fields, and only with a second one is a Map made.
 */
export class SmallMap<V> {
  #key: string | typeof many | undefined = undefined
  /** The value of the only key, or the Map. */
  #value: V | Map<string, V> | undefined = undefined

  get size(): number {
    if (this.#key === many) return (this.#value as Map<string, V>).size
    return this.#key === undefined ? 0 : 1
  }

  has(key: string): boolean {
    return this.#key === many ? (this.#value as Map<string, V>).has(key) : this.#key === key
  }

  get(key: string): V | undefined {
    if (this.#key === many) return (this.#value as Map<string, V>).get(key)
    return this.#key === key ? (this.#value as V) : undefined
  }

  set(key: string, value: V): void {
    if (this.#key === many) (this.#value as Map<string, V>).set(key, value)
    else if (this.#key === undefined || this.#key === key) {
      this.#key = key
      this.#value = value
    } else {
      this.#value = new Map([
        [this.#key, this.#value as V],
        [key, value],
      ])
      this.#key = many
    }
  }

  delete(key: string): boolean {
    if (this.#key === many) return (this.#value as Map<string, V>).delete(key)
    if (this.#key !== key) return false
    this.clear()
    return true
  }

  clear(): void {
    this.#key = undefined
    this.#value = undefined
  }

  /** A copy: the map may change while it is gone through. */
  keys(): readonly string[] {
    if (this.#key === many) return [...(this.#value as Map<string, V>).keys()]
    return this.#key === undefined ? [] : [this.#key]
  }

  values(): readonly V[] {
    if (this.#key === many) return [...(this.#value as Map<string, V>).values()]
    return this.#key === undefined ? [] : [this.#value as V]
  }

  entries(): readonly (readonly [string, V])[] {
    if (this.#key === many) return [...(this.#value as Map<string, V>)]
    return this.#key === undefined ? [] : [[this.#key, this.#value as V]]
  }

  /** The first value that is like that, without a copy. */
  find(test: (value: V) => boolean): V | undefined {
    if (this.#key !== many) return this.#key !== undefined && test(this.#value as V) ? (this.#value as V) : undefined
    for (const value of (this.#value as Map<string, V>).values()) if (test(value)) return value
    return undefined
  }

  /** Whether a value is like that, without a copy. */
  some(test: (value: V) => boolean): boolean {
    return this.find(test) !== undefined
  }
}
