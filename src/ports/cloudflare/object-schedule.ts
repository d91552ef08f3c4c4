import type { InstanceRow, NewMessage, Turn } from "../journal-store.ts"
import type { ScheduleRow } from "../schedule-store.ts"

/** What the object of a schedule has to tell others, beside the schedule itself. Everything is synchronous, and each method is one transaction. */
export interface ObjectSchedule {
  /** False: nothing was ever written here, or all of it was deleted. */
  isThere(): boolean
  prepare(): void
  /** The one schedule of the object. */
  row(): ScheduleRow | undefined
  /** Instances to begin, and messages to them, in the order in which they were decided on. */
  addOrders(orders: readonly ScheduleOrder[]): void
  /** An instance as it will begin, where it is ordered and not known to have begun. */
  ordered(id: string): InstanceRow | undefined
  orders(limit: number): readonly { readonly seq: number; readonly order: ScheduleOrder }[]
  done(seq: number): void
  /** What the index has heard of, and what is to be taken out of it. */
  indexed(): { readonly revision: number; readonly incarnation?: string; readonly removed?: { readonly id: string; readonly incarnation: string } }
  setIndexed(row: Pick<ScheduleRow, "revision" | "incarnation">): void
  removed(schedule: { readonly id: string; readonly incarnation: string } | undefined): void
  forget(): void
}

export type ScheduleOrder = { readonly create: Turn; readonly message?: never } | { readonly message: NewMessage; readonly create?: never }
