/** Takes the place of the only key when the map has become a Map. */
const many = Symbol("many")

/**
 * A map with string keys, in the order of insertion, for one entry in most cases. Each instance in memory has several such maps, and most workflows
 * have one open ask at a time. So a single entry is kept in two fields, and a Map is created only for the second entry.
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

  /** A copy of the values, so that the map may change during a loop over them. */
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

  /** The first value that satisfies the predicate. */
  find(test: (value: V) => boolean): V | undefined {
    if (this.#key !== many) return this.#key !== undefined && test(this.#value as V) ? (this.#value as V) : undefined
    for (const value of (this.#value as Map<string, V>).values()) if (test(value)) return value
    return undefined
  }

  /** Whether a value satisfies the predicate. */
  some(test: (value: V) => boolean): boolean {
    return this.find(test) !== undefined
  }
}
