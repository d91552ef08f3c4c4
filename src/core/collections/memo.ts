/** Caches the results of a pure function. When the cache has `keptMax` results, it is emptied. */
export function memo<Key, Value>(make: (key: Key) => Value, keptMax: number): (key: Key) => Value {
  const kept = new Map<Key, Value>()
  return (key) => {
    const known = kept.get(key)
    if (known !== undefined) return known
    const made = make(key)
    if (kept.size >= keptMax) kept.clear()
    kept.set(key, made)
    return made
  }
}
