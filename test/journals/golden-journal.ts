import { encodeValue } from "../../src/core/values/value-codec.ts"
import { PerdureError } from "../../src/index.ts"
import type { JournalExport, Replayed } from "../../src/testing.ts"

/** A journal as a version recorded it, and the expected outcome of its replay. The format of these files is as durable as the journals. */
export interface GoldenJournal {
  readonly recordedBy: string
  readonly journal: JournalExport
  readonly replays: GoldenOutcome
}

export interface GoldenOutcome {
  readonly status: string
  /** The encoded result of the code, or its error. Without both, the code has not ended. */
  readonly returned?: string
  readonly threw?: { readonly name: string; readonly message: string; readonly code?: string }
  /** The asks of the code beyond the end of the journal. */
  readonly asked: readonly string[]
}

export function outcomeOf({ outcome, asked, state }: Replayed): GoldenOutcome {
  const { status } = state
  if (outcome === undefined) return { status, asked }
  if (outcome.ok) return { status, returned: encodeValue(outcome.value), asked }
  const { name, message } = outcome.error as Error
  return { status, threw: { name, message, ...(PerdureError.is(outcome.error) ? { code: outcome.error.code } : undefined) }, asked }
}
