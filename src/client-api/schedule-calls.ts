import type { AnyWorkflow } from "../core/workflow/workflow.ts"
import type {
  BackfilledFiring,
  BackfillOptions,
  ScheduleControlResult,
  ScheduleDescription,
  ScheduleFilter,
  ScheduleOptions,
  SchedulePage,
  ScheduleUpdate,
} from "./schedule-client.ts"

/** The calls on schedules that each client implements. Their arguments have been checked by `CheckedSchedules`. */
export interface ScheduleCalls {
  create(id: string, options: ScheduleCreation): Promise<void>
  list(filter: ScheduleFilter): Promise<SchedulePage>
  describe(id: string): Promise<ScheduleDescription>
  update(id: string, changes: ScheduleUpdate): Promise<void>
  pause(id: string, reason: string | undefined): Promise<ScheduleControlResult>
  resume(id: string): Promise<ScheduleControlResult>
  /** Returns the id of the instance that it started. */
  trigger(id: string, options: { readonly input?: unknown }): Promise<string>
  backfill(id: string, options: BackfillOptions): Promise<readonly BackfilledFiring[]>
  delete(id: string): Promise<void>
}

/** What `create` of a schedule is given besides the id. */
export type ScheduleCreation = ScheduleOptions<unknown> & { readonly workflow: AnyWorkflow | string }
