import type { JournalRow } from "./journal-store.ts"

/**
 * What the journals of all instances are, put together: every row that is committed, in an order that holds for each instance and
 * never gains a row before a place that somebody has read past. Rows of instances that are removed are not in it any more.
 */
export interface ChangeStream {
  /**
   * The rows after a place, of all instances or of one: whole rows, at most `limit`, and fewer where they are long; none only where
   * there are none. The place is a cursor of this stream, or undefined for the beginning. One that is not of this store, as far as
   * that can be told, is refused (BAD_OPTION).
   */
  changes(after: string | undefined, limit: number, instance?: string): Promise<ChangePage>
  /** The cursor of the last row that is committed now. */
  latestChange(): Promise<string>
}

export interface ChangePage {
  readonly rows: readonly ChangeRow[]
  /**
   * Where to go on: of the last row; or, where no more rows are there now, of the last of the whole stream, whatever instance was asked for.
   */
  readonly cursor: string
}

export interface ChangeRow extends JournalRow {
  readonly instance: string
  readonly incarnation: string
  readonly workflow: string
  readonly version: string
  /** Its task queue; absent: the default one. */
  readonly queue?: string
  /** Everything up to this row, this one included. Text without white space and without "~". */
  readonly cursor: string
}
