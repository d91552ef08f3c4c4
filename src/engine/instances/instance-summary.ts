import { PerdureError } from "../../core/errors.ts"
import { storedPayload } from "../../core/values/encoded-payload.ts"
import { shown } from "../../core/workflow/input-limits.ts"
import type { PayloadCodecs } from "../../core/values/payload-codecs.ts"
import { defaultQueue } from "../../core/workflow/task-queue.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import type { InstanceSummary } from "../../client-api/client-api.ts"

const limitDefault = 50
const limitMax = 1_000

export function summary(row: InstanceRow, codecs: PayloadCodecs | undefined): InstanceSummary {
  const { id, workflow, version, run, status, phase, tags, queue = defaultQueue, createdAt, updatedAt } = row
  const memo = row.memo === undefined ? undefined : (storedPayload(row.memo, codecs).shown() as InstanceSummary["memo"])
  return { id, workflow, version, run, status, ...(phase ? { phase } : undefined), tags, queue, ...(memo ? { memo } : undefined), createdAt, updatedAt }
}

/** The number of items of a page, from the option of the caller. */
export function pageLimit(limit = limitDefault): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= limitMax) return limit
  throw new PerdureError("BAD_OPTION", `limit is ${shown(limit)}; give a whole number from 1 to ${limitMax}`)
}
