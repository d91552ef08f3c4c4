import type { ControlResult, InstanceDescription, InstanceSummary } from "../../client-api/client-api.ts"
import { instanceStatus, statusName, statusNames } from "../../dialects/cloudflare-workflows/instance-status.ts"
import { shortId } from "../../dialects/cloudflare-workflows/instance-id.ts"
import { descriptionFields, descriptionOf, summaryFields, summaryOf } from "../response-schemas.ts"
import { anything, boolean, integer, object, oneOf, optional, string } from "../schema.ts"

/** The documents of the API with the ids and the statuses of Cloudflare Workflows. What they add is what `instance.status()` gives there. */

export const status = oneOf(statusNames)

const { phase: _, ...ownSummaryFields } = summaryFields
export const summary = object({ ...ownSummaryFields, status }, "CloudflareInstanceSummary")

export function shownSummary({ phase, ...instance }: InstanceSummary): object {
  return { ...summaryOf(instance), id: shortId(instance.workflow, instance.id), status: statusName({ status: instance.status, ...(phase && { phase }) }) }
}

const shownError = object({ name: string(), message: string() })
const { phase: __, result: ___, ...ownDescriptionFields } = descriptionFields
export const description = object(
  {
    ...ownDescriptionFields,
    status,
    output: optional(anything()),
    error: optional(shownError),
    rollback: optional(object({ outcome: oneOf(["complete", "failed"]), error: optional(shownError) })),
  },
  "CloudflareInstance",
)

export function shownDescription(instance: InstanceDescription): object {
  const { phase: _phase, result: _result, error: _error, ...rest } = descriptionOf(instance)
  return { ...rest, id: shortId(instance.workflow, instance.id), ...instanceStatus(instance) }
}

export const control = object({ id: string(), status, accepted: optional(boolean()), reason: optional(string()) }, "CloudflareControlResult")

export function shownControl(workflow: string, { phase, accepted, ...result }: ControlResult): object {
  return {
    ...result,
    id: shortId(workflow, result.id),
    status: statusName({ status: result.status, ...(phase && { phase }) }),
    ...(accepted ? undefined : { accepted }),
  }
}

export const started = object({ id: string(), type: string(), status }, "CloudflareStartedInstance")
export const batchResult = object(
  { id: string(), created: boolean(), error: optional(object({ code: integer(), message: string() })) },
  "CloudflareBatchResult",
)
