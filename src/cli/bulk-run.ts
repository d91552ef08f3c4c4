import { PerdureError } from "../core/errors.ts"

export interface BulkReport {
  readonly matched: number
  readonly done: number
  /** The action changed nothing on this instance. */
  readonly skipped: readonly { readonly id: string; readonly reason: string }[]
  readonly failed: readonly { readonly id: string; readonly code: string; readonly message: string }[]
}

/** Acts on one instance. Resolves to undefined, or to the reason why nothing changed. */
export type BulkAction = (id: string) => Promise<string | undefined>

export interface BulkOptions {
  readonly concurrency: number
  readonly signal: AbortSignal
  readonly onProgress: (finished: number, failed: number) => void
}

/** Runs an action on many instances, at most `concurrency` at a time. A failure on one instance does not stop the others. */
export async function bulkRun(ids: readonly string[], action: BulkAction, { concurrency, signal, onProgress }: BulkOptions): Promise<BulkReport> {
  const skipped: { id: string; reason: string }[] = []
  const failed: { id: string; code: string; message: string }[] = []
  let next = 0
  let finished = 0
  const work = async () => {
    for (let id = ids[next++]; id !== undefined && !signal.aborted; id = ids[next++]) {
      try {
        const reason = await action(id)
        if (reason !== undefined) skipped.push({ id, reason })
      } catch (error) {
        failed.push({ id, code: PerdureError.is(error) ? error.code : "Error", message: error instanceof Error ? error.message : String(error) })
      }
      finished++
      onProgress(finished, failed.length)
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, ids.length) }, work))
  return { matched: ids.length, done: finished - skipped.length - failed.length, skipped, failed }
}
