// The raw floor: what a database itself takes for the rows that the engine wrote into it. Nothing is encoded, decided or scheduled here.

export interface Floor {
  /** Milliseconds for all journal rows in transactions of these sizes. */
  grouped(sizes: readonly number[], options: { readonly withInstances: boolean }): Promise<number>
  /** Journal rows in transactions of their own, as many as were captured. */
  rawCommits(): Promise<RawCommits>
}

export interface RawCommits extends AsyncDisposable {
  /** Milliseconds of the next one. */
  next(): Promise<number>
  /** Milliseconds of each of the next ones, in a tight loop. */
  take(count: number): Promise<readonly number[]>
}

/** As many transactions of a size as there are rows for. */
export function groupsOf(size: number, total: number): readonly number[] {
  return Array.from({ length: Math.ceil(total / size) }, (_, index) => Math.min(size, total - index * size))
}

export function checkTotal(sizes: readonly number[], rows: number): void {
  const total = sizes.reduce((sum, size) => sum + size, 0)
  if (total !== rows) throw new Error(`the engine committed ${total} turns, but its journal has ${rows} rows`)
}
