import type { InstanceRow, NewMessage, Turn } from "../journal-store.ts"
import type { ScheduleRow } from "../schedule-store.ts"

/** The tables of a schedule's object beside the schedule itself: orders for other objects, and the index's progress. Everything is synchronous, and each method is one transaction. */
export interface ObjectSchedule {
  /** False: nothing was ever written to the object, or everything was deleted. */
  isThere(): boolean
  /** Creates the tables that are missing. */
  prepare(): void
  /** The one schedule of the object. */
  row(): ScheduleRow | undefined
  /** Adds instances to create, and messages to send, behind the orders that are there. */
  addOrders(orders: readonly ScheduleOrder[]): void
  /** The row that an ordered instance will have. Undefined: there is no such order, or it is done. */
  ordered(id: string): InstanceRow | undefined
  /** The oldest orders that are not done. */
  orders(limit: number): readonly { readonly seq: number; readonly order: ScheduleOrder }[]
  done(seq: number): void
  /** The revision that the index has acknowledged, and the deleted schedule that has to be removed from it. */
  indexed(): { readonly revision: number; readonly incarnation?: string; readonly removed?: { readonly id: string; readonly incarnation: string } }
  setIndexed(row: Pick<ScheduleRow, "revision" | "incarnation">): void
  /** Stores which deleted schedule has to be removed from the index. Undefined: none has. */
  removed(schedule: { readonly id: string; readonly incarnation: string } | undefined): void
  /** The object's storage was deleted. */
  forget(): void
}

export type ScheduleOrder = { readonly create: Turn; readonly message?: never } | { readonly message: NewMessage; readonly create?: never }
