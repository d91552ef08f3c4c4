import type { JournalRow } from "./journal-store.ts"

/**
 * The committed journal rows of all instances in one order. Rows of one instance are in journal order. A row never appears before a place that a reader
 * has passed. Rows of removed instances are left out.
 */
export interface ChangeStream {
  /**
   * The rows behind a cursor, of all instances or of one. The page has at most `limit` rows, fewer if rows are long, and none only if there are no further
   * rows. `after` undefined means the beginning. A cursor that is recognisably not of this store is refused with BAD_OPTION.
   */
  changes(after: string | undefined, limit: number, instance?: string): Promise<ChangePage>
  /** The cursor of the last committed row. */
  latestChange(): Promise<string>
}

export interface ChangePage {
  readonly rows: readonly ChangeRow[]
  /**
   * The cursor for the next page. It is that of the last row. If the stream has no further rows now, it is the end of the whole stream, also when only one
   * instance was asked for.
   */
  readonly cursor: string
}

export interface ChangeRow extends JournalRow {
  readonly instance: string
  readonly incarnation: string
  readonly workflow: string
  readonly version: string
  /** The task queue of the instance. Absent: the default queue. */
  readonly queue?: string
  /** The cursor behind this row. It is text without white space and without "~". */
  readonly cursor: string
}
