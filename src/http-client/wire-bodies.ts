import { PerdureError } from "../core/errors.ts"
import type { AnyWorkflow } from "../core/workflow/workflow.ts"
import type { ControlResult, InstanceDescription, InstanceSummary, ListFilter, StartOptions } from "../client-api/client-api.ts"
import type { ScheduleDescription, ScheduleSummary } from "../client-api/schedule-client.ts"
import { definitionOptions, workflowName } from "../client-api/workflow-reference.ts"
import type { Query } from "./transport.ts"

/**
 * Converts between the options and results of a client and the bodies of the HTTP API. In bodies a workflow is called `type` and an input `payload`. A time
 * is a number or a text.
 */

export function instantOf(time: Date | number | string | null | undefined): number | string | null | undefined {
  return time instanceof Date ? time.getTime() : time
}

/** Leaves out the options that are undefined. */
export function withoutUndefined<T extends object>(options: T): Partial<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>
}

export function startBody(workflow: AnyWorkflow | string, { input, startAt, transaction, ...options }: StartOptions<unknown>): object {
  refuseTransaction(transaction)
  return withoutUndefined({ type: workflowName(workflow), payload: input, startAt: instantOf(startAt), ...options, ...definitionOptions(workflow) })
}

/** The transaction is on a connection of the caller. The server cannot write on that connection. */
export function refuseTransaction(transaction: unknown): void {
  if (transaction === undefined) return
  throw new PerdureError(
    "NO_TRANSACTIONS",
    "a call over HTTP cannot write in your transaction; open an engine with postgres(…), as a client if it should not execute",
  )
}

export function filterQuery({ status, since, until, ...filter }: ListFilter): Query {
  const wanted = typeof status === "string" ? [status] : status
  return { ...filter, status: wanted, since: instantOf(since) ?? undefined, until: instantOf(until) ?? undefined }
}

type Typed<T> = Omit<T, "workflow"> & { readonly type: string }

export function summaryFrom({ type, ...rest }: Typed<InstanceSummary>): InstanceSummary {
  return { ...rest, workflow: type }
}

export function descriptionFrom({ type, payload, ...rest }: Typed<InstanceDescription> & { readonly payload?: unknown }): InstanceDescription {
  return { ...rest, workflow: type, input: payload }
}

export function scheduleSummaryFrom({ type, ...rest }: Typed<ScheduleSummary>): ScheduleSummary {
  return { ...rest, workflow: type }
}

export function scheduleFrom({ type, payload, ...rest }: Typed<ScheduleDescription> & { readonly payload?: unknown }): ScheduleDescription {
  return { ...rest, workflow: type, input: payload }
}

export function controlFrom(body: Omit<ControlResult, "accepted"> & { readonly accepted?: boolean }): ControlResult {
  return { ...body, accepted: body.accepted ?? true }
}
