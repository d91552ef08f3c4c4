/** The name that the caller probably meant; undefined if no name is near enough. */
export function nearestName(given: string, names: Iterable<string>): string | undefined {
  let nearest: string | undefined
  // A third of the letters may be wrong, but at least one.
  let fewest = Math.max(1, Math.floor(given.length / 3)) + 1
  for (const name of names) {
    // The distance of two long texts takes too long to compute.
    if (Math.abs(name.length - given.length) >= fewest || name.length > lengthMax) continue
    const edits = editsBetween(given.toLowerCase(), name.toLowerCase())
    if (edits >= fewest) continue
    fewest = edits
    nearest = name
  }
  return nearest
}

const lengthMax = 256

/** How many letters have to be added, left out, replaced, or swapped with their neighbour to turn `from` into `to`. */
function editsBetween(from: string, to: string): number {
  let before: readonly number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  const cost = (of: readonly number[], at: number) => of[at] ?? Infinity
  for (let line = 1; line <= from.length; line++) {
    const next = [line]
    for (let at = 1; at <= to.length; at++) {
      const isEqual = from[line - 1] === to[at - 1]
      const isSwapped = line > 1 && at > 1 && from[line - 1] === to[at - 2] && from[line - 2] === to[at - 1]
      const swapped = isSwapped ? cost(before, at - 2) + 1 : Infinity
      next.push(Math.min(cost(row, at - 1) + (isEqual ? 0 : 1), cost(row, at) + 1, cost(next, at - 1) + 1, swapped))
    }
    before = row
    row = next
  }
  return cost(row, to.length)
}
