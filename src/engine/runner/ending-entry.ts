import { encodeValue, Payload } from "../../core/values/value-codec.ts"
import { PerdureError } from "../../core/errors.ts"
import type { Outcome } from "../../core/execution/run-outcome.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { EntryOf } from "../../core/journal/journal.ts"

export type EndingEntry = EntryOf<"run.completed" | "run.failed" | "run.cancelled" | "run.terminated">

/** The entry that ends a run whose code has ended. A cancelled run ends as cancelled, whatever its code returns or throws. */
export function endingEntry(id: string, state: InstanceState, outcome: Outcome, { bytesMax, isSensitive }: EndingOptions): EndingEntry {
  const undone = outcome.notRolledBack === undefined ? undefined : { notRolledBack: outcome.notRolledBack }
  if (state.terminating) return { ...terminatedEntry(state.terminating.reason), ...undone }
  if (state.cancel) return { ...cancelledEntry(id, state), ...undone }
  if (!outcome.ok) return { type: "run.failed", value: Payload.ofError(outcome.error, isSensitive), ...undone }
  try {
    return { type: "run.completed", value: Payload.of(encodeValue(outcome.value, { what: "result", bytesMax }), isSensitive) }
  } catch (error) {
    return { type: "run.failed", value: Payload.ofError(error) }
  }
}

interface EndingOptions {
  readonly bytesMax: number
  readonly isSensitive: boolean | undefined
}

export function terminatedEntry(reason: string | undefined): EntryOf<"run.terminated"> {
  return { type: "run.terminated", ...(reason === undefined ? undefined : { reason }) }
}

/** The entry that ends a cancelled run. If the instance's own timeout cancelled it, the run ends as failed. */
export function cancelledEntry(id: string, { cancel }: InstanceState): EntryOf<"run.failed" | "run.cancelled"> {
  if (cancel?.cause !== "timeout") return { type: "run.cancelled", ...(cancel?.reason === undefined ? undefined : { reason: cancel.reason }) }
  const error = new PerdureError("INSTANCE_TIMEOUT", `instance "${id}" took longer than its timeout`, { details: { instance: id } })
  return { type: "run.failed", value: Payload.ofError(error) }
}
