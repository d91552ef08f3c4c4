/** Of some names the one that was probably meant; undefined: none is near enough. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  let nearest: string | undefined
  // A third of its letters may be wrong, or two that were swapped; of a very short one, one.
  let fewest = (given.length < 4 ? 1 : Math.max(2, Math.floor(given.length / 3))) + 1
  for (const name of names) {
    // Names are short; of two long ones nobody is told how near they are.
    if (Math.abs(name.length - given.length) >= fewest || name.length > lengthMax) continue
    const edits = editsBetween(given.toLowerCase(), name.toLowerCase())
    if (edits >= fewest) continue
    fewest = edits
    nearest = name
  }
  return nearest
}

const lengthMax = 100

/** How many letters have to be added, left out or replaced to get from one text to the other. */
function editsBetween(from: string, to: string): number {
  let before = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let row = 1; row <= from.length; row++) {
    const now = [row]
    for (let at = 1; at <= to.length; at++) {
      const replaced = (before[at - 1] ?? 0) + (from[row - 1] === to[at - 1] ? 0 : 1)
      now.push(Math.min(replaced, (before[at] ?? 0) + 1, (now[at - 1] ?? 0) + 1))
    }
    before = now
  }
  return before.at(-1) ?? 0
}
