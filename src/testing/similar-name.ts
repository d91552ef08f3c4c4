/** The one of the names that is most like another, if one is: at most a third of it is written differently. */
export function similarName(name: string, names: Iterable<string>): string | undefined {
  let best: { readonly name: string; readonly distance: number } | undefined
  for (const known of names) {
    const distance = editDistance(name.toLowerCase(), known.toLowerCase())
    if (distance <= Math.max(name.length, known.length) / 3 && distance < (best?.distance ?? Infinity)) best = { name: known, distance }
  }
  return best?.name
}

/** How many characters have to be put in, left out or changed (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (const [line, character] of Array.from(from).entries()) {
    const next = [line + 1]
    for (let at = 1; at <= to.length; at++)
      next.push(Math.min((row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1, (row[at - 1] ?? 0) + (character === to[at - 1] ? 0 : 1)))
    row = next
  }
  return row[to.length] ?? 0
}
