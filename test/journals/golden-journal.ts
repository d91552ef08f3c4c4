import { encodeValue } from "../../src/core/values/value-codec.ts"
import { PerdureError } from "../../src/index.ts"
import type { JournalExport, Replayed } from "../../src/testing.ts"

/** A journal as some version recorded it, with what replaying it must come to. The form of these files is as durable as the journals. */
export interface GoldenJournal {
  readonly recordedBy: string
  readonly journal: JournalExport
  readonly replays: GoldenOutcome
}

export interface GoldenOutcome {
  readonly status: string
  /** What the code returned, encoded, or what it threw; neither: it is not through. */
  readonly returned?: string
  readonly threw?: { readonly name: string; readonly message: string; readonly code?: string }
  /** What the code asks for beyond the journal. */
  readonly asked: readonly string[]
}

export function outcomeOf({ outcome, asked, state }: Replayed): GoldenOutcome {
  const { status } = state
  if (outcome === undefined) return { status, asked }
  if (outcome.ok) return { status, returned: encodeValue(outcome.value), asked }
  const { name, message } = outcome.error as Error
  return { status, threw: { name, message, ...(PerdureError.is(outcome.error) ? { code: outcome.error.code } : undefined) }, asked }
}
