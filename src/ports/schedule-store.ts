import type { Page } from "./directory.ts"
import type { NewMessage, Turn } from "./journal-store.ts"

/**
 * Where schedules live. The fence is a schedule's revision: whatever a writer decided on the ground of one is written only while
 * that is still the schedule's, together with the instances that it starts.
 */
export interface ScheduleStore {
  /** One transaction: all of it, or nothing. */
  write(change: ScheduleChange): Promise<"written" | "lost">
  get(id: string): Promise<ScheduleRow | undefined>
  /** The input of its instances, encoded. Undefined: there is no such schedule. */
  input(id: string): Promise<string | undefined>
  /** Ordered by id. */
  list(filter: { readonly workflow?: string }, page: { readonly limit: number; readonly after?: string }): Promise<Page<ScheduleRow>>
  /** Schedules of these workflows that want to be looked at: due, or whose awaited instance is over or not there. The longest due first. */
  due(workflows: readonly string[], limit: number): Promise<readonly ScheduleRow[]>
  /** When the next schedule of these workflows is due. */
  nextDueAt(workflows: readonly string[]): Promise<number | undefined>
  /** Its instances stay. Answers whether there was one. */
  remove(id: string): Promise<boolean>
}

export interface ScheduleRow {
  readonly id: string
  /** Tells it from a later one that has its id. */
  readonly incarnation: string
  /** 1, and one more with each change. */
  readonly revision: number
  readonly workflow: string
  readonly createdAt: number
  readonly updatedAt: number
  /** When it wants to be looked at. */
  readonly dueAt?: number
  /** It also wants to be looked at when this instance is over, or not there. */
  readonly awaits?: string
  /** The rest: JSON text that stores do not look into. */
  readonly state: string
}

export interface ScheduleChange {
  /** What the schedule becomes. With revision 1 it is new: lost if the id exists. Else lost unless the one before is there, of the same incarnation. */
  readonly row: ScheduleRow
  /** Given for a new schedule, and where the input changes. */
  readonly input?: string
  /** Instances that begin to be: lost if the id of one exists, or another instance has a unique key of one. */
  readonly creates?: readonly Turn[]
  /** Messages to instances; to one that takes none, nothing is delivered. */
  readonly messages?: readonly NewMessage[]
  /** Lost unless these instances are over, or not there; and unless these are there and not over. */
  readonly ended?: readonly string[]
  readonly live?: readonly string[]
}
