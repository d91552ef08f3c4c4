/**
 * A map from ids for entries that come and go, in the order of insertion. Most workflows have one open ask at a time, and
 * each instance in memory has several such maps: a single entry lives in two fields, and only with a second one is a Map made.
 */
export class SmallMap<V> {
  #key: string | undefined = undefined
  #value: V | undefined = undefined
  #map: Map<string, V> | undefined = undefined

  get size(): number {
    if (this.#map) return this.#map.size
    return this.#key === undefined ? 0 : 1
  }

  has(key: string): boolean {
    return this.#map ? this.#map.has(key) : this.#key === key
  }

  get(key: string): V | undefined {
    if (this.#map) return this.#map.get(key)
    return this.#key === key ? this.#value : undefined
  }

  set(key: string, value: V): void {
    if (this.#map) this.#map.set(key, value)
    else if (this.#key === undefined || this.#key === key) {
      this.#key = key
      this.#value = value
    } else {
      this.#map = new Map([
        [this.#key, this.#value as V],
        [key, value],
      ])
      this.#forget()
    }
  }

  delete(key: string): boolean {
    if (this.#map) return this.#map.delete(key)
    if (this.#key !== key) return false
    this.#forget()
    return true
  }

  clear(): void {
    this.#map = undefined
    this.#forget()
  }

  /** A copy: the map may change while it is gone through. */
  keys(): readonly string[] {
    if (this.#map) return [...this.#map.keys()]
    return this.#key === undefined ? [] : [this.#key]
  }

  values(): readonly V[] {
    if (this.#map) return [...this.#map.values()]
    return this.#key === undefined ? [] : [this.#value as V]
  }

  entries(): readonly (readonly [string, V])[] {
    if (this.#map) return [...this.#map]
    return this.#key === undefined ? [] : [[this.#key, this.#value as V]]
  }

  /** Whether a value is like that, without a copy. */
  some(test: (value: V) => boolean): boolean {
    if (!this.#map) return this.#key !== undefined && test(this.#value as V)
    for (const value of this.#map.values()) if (test(value)) return true
    return false
  }

  #forget(): void {
    this.#key = undefined
    this.#value = undefined
  }
}
