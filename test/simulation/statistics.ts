/** Counts events of one simulation or many. */
export class Statistics {
  readonly #counts = new Map<string, number>()

  count(what: string, times = 1): void {
    if (times > 0) this.#counts.set(what, this.get(what) + times)
  }

  get(what: string): number {
    return this.#counts.get(what) ?? 0
  }

  add(other: Statistics): void {
    for (const [what, times] of other.#counts) this.count(what, times)
  }

  print(): string {
    return [...this.#counts]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([what, times]) => `${what}: ${times}`)
      .join(", ")
  }
}
