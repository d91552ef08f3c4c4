import { encodeError, encodeValue, Payload } from "../core/codec.ts"
import { PerdureError } from "../core/errors.ts"
import type { Outcome } from "../core/execution.ts"
import type { InstanceState } from "../core/instance-state.ts"
import type { EntryOf } from "../core/journal.ts"

export type EndingEntry = EntryOf<"run.completed" | "run.failed" | "run.cancelled">

/** How the run ends when its code has. A cancelled one is cancelled, whatever its code returns or throws. */
export function endingEntry(id: string, state: InstanceState, outcome: Outcome, bytesMax: number): EndingEntry {
  if (state.cancel) return cancelledEntry(id, state)
  if (!outcome.ok) return { type: "run.failed", value: Payload.of(encodeError(outcome.error)) }
  try {
    return { type: "run.completed", value: Payload.of(encodeValue(outcome.value, { what: "result", bytesMax })) }
  } catch (error) {
    return { type: "run.failed", value: Payload.of(encodeError(error)) }
  }
}

/** How a cancelled run ends: as failed, if it was its own timeout that cancelled it. */
export function cancelledEntry(id: string, { cancel }: InstanceState): EndingEntry {
  if (cancel?.cause !== "timeout") return { type: "run.cancelled", ...(cancel?.reason === undefined ? undefined : { reason: cancel.reason }) }
  const error = new PerdureError("INSTANCE_TIMEOUT", `instance "${id}" took longer than its timeout`, { details: { instance: id } })
  return { type: "run.failed", value: Payload.of(encodeError(error)) }
}
