// The raw floor: the time that a database needs to write the rows of the engine. Nothing is encoded, decided or scheduled here.

export interface Floor {
  /** Writes all journal rows in transactions of these sizes, and returns the milliseconds. */
  grouped(sizes: readonly number[], options: { readonly withInstances: boolean }): Promise<number>
  /** Prepares all captured journal rows for commits of one row each. */
  rawCommits(): Promise<RawCommits>
}

export interface RawCommits extends AsyncDisposable {
  /** Makes the next commit, and returns its milliseconds. */
  next(): Promise<number>
  /** Makes the next commits in a tight loop, and returns the milliseconds of each. */
  take(count: number): Promise<readonly number[]>
}

/** Splits all rows into transactions of a size. */
export function groupsOf(size: number, total: number): readonly number[] {
  return Array.from({ length: Math.ceil(total / size) }, (_, index) => Math.min(size, total - index * size))
}

export function checkTotal(sizes: readonly number[], rows: number): void {
  const total = sizes.reduce((sum, size) => sum + size, 0)
  if (total !== rows) throw new Error(`the engine committed ${total} turns, but its journal has ${rows} rows`)
}
