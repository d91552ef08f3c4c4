import { PerdureError } from "../core/errors.ts"
import type { AnyWorkflow } from "../core/workflow/workflow.ts"
import type { ControlResult, InstanceDescription, InstanceSummary, ListFilter, StartOptions } from "../client-api/client-api.ts"
import type { ScheduleDescription, ScheduleSummary } from "../client-api/schedule-client.ts"
import { definitionOptions, workflowName } from "../client-api/workflow-reference.ts"
import type { Query } from "./transport.ts"

/** What things are called over HTTP: a workflow is a `type` there, an input a `payload`, and a time a number or a text. */

export function instantOf(time: Date | number | string | null | undefined): number | string | null | undefined {
  return time instanceof Date ? time.getTime() : time
}

/** Options that are absent and those that are undefined are the same. */
export function given<T extends object>(options: T): Partial<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>
}

export function startBody(workflow: AnyWorkflow | string, { input, startAt, transaction, ...options }: StartOptions<unknown>): object {
  refuseTransaction(transaction)
  return given({ type: workflowName(workflow), payload: input, startAt: instantOf(startAt), ...options, ...definitionOptions(workflow) })
}

/** It belongs to a connection of the caller's, which nobody else can write on. */
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
