import type { Status } from "../../core/journal/status.ts"
import type { ControlResult, InstanceDescription, InstanceSummary, ListFilter } from "../../client-api/client-api.ts"
import { nativeStatuses, workflowStatus, type WorkflowStatus } from "./workflow-status.ts"

/** The fields that have other names or values than those of an instance. */
interface Renamed {
  /** Unique in the store. */
  readonly workflowId: string
  /** Its status. */
  readonly status: WorkflowStatus
  /** The status in the terms of `perdure`, which tells apart `queued`, `running`, `sleeping` and `waiting`. */
  readonly detailedStatus: Status
  /** Its task queue. */
  readonly taskQueue: string
}

/** A workflow in a page of `list`. */
export interface WorkflowSummary extends Renamed, Omit<InstanceSummary, "id" | "status" | "queue"> {}

/** A workflow as `describe` returns it. Sensitive and undecodable values are replaced. */
export interface WorkflowDescription extends Renamed, Omit<InstanceDescription, "id" | "status" | "queue"> {}

/** Selects the workflows of `list`. A workflow has to match all fields that are given. */
export interface WorkflowFilter extends Omit<ListFilter, "status" | "queue" | "idPrefix"> {
  /** One status, or a list of which any may match. An unknown status throws `BAD_OPTION`. */
  readonly status?: WorkflowStatus | readonly WorkflowStatus[]
  /** The task queue. */
  readonly taskQueue?: string
  /** The beginning of the id. */
  readonly workflowIdPrefix?: string
}

/** A page of `list`. */
export interface WorkflowPage {
  /** The workflows of this page. */
  readonly workflows: readonly WorkflowSummary[]
  /** The cursor of the next page. Absent on the last page. */
  readonly cursor?: string
}

/** The answer of `cancel` and `terminate`. With `accepted: false` nothing has changed, and `reason` says why. */
export interface WorkflowControlResult extends Pick<ControlResult, "accepted" | "reason"> {
  /** The id of the workflow. */
  readonly workflowId: string
  /** The status of the workflow at the time of the answer. */
  readonly status: WorkflowStatus
}

export function workflowSummary({ id, status, queue, ...rest }: InstanceSummary): WorkflowSummary {
  return { workflowId: id, status: workflowStatus(status), detailedStatus: status, taskQueue: queue, ...rest }
}

export function workflowDescription({ id, status, queue, ...rest }: InstanceDescription): WorkflowDescription {
  return { workflowId: id, status: workflowStatus(status), detailedStatus: status, taskQueue: queue, ...rest }
}

export function controlResult({ id, accepted, status, reason }: ControlResult): WorkflowControlResult {
  return { workflowId: id, accepted, status: workflowStatus(status), ...(reason === undefined ? {} : { reason }) }
}

export function listFilter({ status, taskQueue, workflowIdPrefix, ...rest }: WorkflowFilter): ListFilter {
  return {
    ...rest,
    ...(status === undefined ? {} : { status: nativeStatuses(status) }),
    ...(taskQueue === undefined ? {} : { queue: taskQueue }),
    ...(workflowIdPrefix === undefined ? {} : { idPrefix: workflowIdPrefix }),
  }
}
