/** The name that a misspelt one most likely means; undefined: none is near. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  let nearest: string | undefined
  let least = Math.max(1, Math.floor(name.length / 3)) + 1
  for (const other of new Set(names)) {
    if (Math.abs(other.length - name.length) >= least) continue
    const distance = editDistance(name.toLowerCase(), other.toLowerCase())
    if (distance >= least) continue
    least = distance
    nearest = other
  }
  return nearest
}

/** How many letters must be added, removed, changed, or swapped with their neighbour. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      let cost = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (isSame ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2]! + 1)
      next.push(cost)
    }
    before = row
    row = next
  }
  return row[b.length]!
}
