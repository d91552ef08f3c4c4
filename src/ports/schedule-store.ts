import type { Page } from "./directory.ts"
import type { NewMessage, Turn } from "./journal-store.ts"

/**
 * Stores schedules. A schedule's revision is the fence: a decision that was made from one revision is written only while the schedule still has it. The
 * instances that the decision starts are written in the same transaction.
 */
export interface ScheduleStore {
  /** Writes a change in one transaction. `lost`: one of its conditions does not hold, and nothing was written. */
  write(change: ScheduleChange): Promise<"written" | "lost">
  get(id: string): Promise<ScheduleRow | undefined>
  /** The input of the schedule's instances, encoded. Undefined: there is no such schedule. */
  input(id: string): Promise<string | undefined>
  /** A page of schedules, ordered by id. */
  list(filter: { readonly workflow?: string }, page: { readonly limit: number; readonly after?: string }): Promise<Page<ScheduleRow>>
  /** Schedules of these workflows that need a decision: they are due, or their awaited instance has ended or does not exist. The longest due come first. */
  due(workflows: readonly string[], limit: number): Promise<readonly ScheduleRow[]>
  /** When the next schedule of these workflows is due. */
  nextDueAt(workflows: readonly string[]): Promise<number | undefined>
  /** Removes a schedule; its instances stay. False: there was no such schedule. */
  remove(id: string): Promise<boolean>
}

export interface ScheduleRow {
  readonly id: string
  /** A random token that tells the schedule from a later one with the same id. */
  readonly incarnation: string
  /** 1, and one more after each change. */
  readonly revision: number
  readonly workflow: string
  readonly createdAt: number
  readonly updatedAt: number
  /** When the schedule needs a decision. */
  readonly dueAt?: number
  /** The schedule also needs a decision when this instance has ended or does not exist. */
  readonly awaits?: string
  /** The schedule itself, as JSON text that stores do not read. */
  readonly state: string
}

export interface ScheduleChange {
  /** The new row. With revision 1 the schedule is new, and the change is lost if the id exists. Else it is lost unless the store has the revision before, of the same incarnation. */
  readonly row: ScheduleRow
  /** The input, for a new schedule and if the input changes. */
  readonly input?: string
  /** Instances to create. The change is lost if an id exists, or if another instance has one of the unique keys. */
  readonly creates?: readonly Turn[]
  /** Messages to instances. A message to an ended or absent instance is dropped. */
  readonly messages?: readonly NewMessage[]
  /** The change is lost unless the instances of `ended` have ended or do not exist, and those of `live` exist and have not ended. */
  readonly ended?: readonly string[]
  readonly live?: readonly string[]
}
