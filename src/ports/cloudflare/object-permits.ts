import type { LimitUse, UniqueUse } from "../flow-control.ts"
import type { SlotAsk, SlotMember } from "./limit-key.ts"

/**
 * Where slots are given out elsewhere: what the object of an instance has asked for, has, and has yet to give back. A row is written before
 * anybody is asked, and stays until whoever was asked knows that it is given back: so no slot is forgotten. Everything is synchronous, and each method
 * is one transaction.
 *
 *   asked ──► held ──► returning ──► (gone)
 *     └──────────────────▲
 */
export interface SlotRequests {
  /** Compares what there is with what the instance wants now: what it does not want any more is to be given back. */
  work(): SlotRequestWork
  granted(key: string): void
  /** What was returned is known to be. */
  returned(key: string): void
  /** To be had before the instance begins to be; until `settled`, nobody gives them back. Undefined: the object has, or is about to have, another. */
  reserve(member: SlotMember, uses: readonly UniqueUse[]): readonly SlotRequest[] | undefined
  settled(member: SlotMember, uses: readonly UniqueUse[]): void
  /** Whether the slot of the member is its own, or will be. */
  holds(member: SlotMember, key: string): boolean
  isEmpty(): boolean
}

export interface SlotRequest {
  readonly key: string
  readonly ask: SlotAsk
}

export interface SlotRequestWork {
  readonly asks: readonly SlotRequest[]
  readonly gives: readonly { readonly key: string; readonly member: SlotMember }[]
}

/** Says whether a slot of the limit is there; within the transaction that wants it. */
export type IsPermitted = (use: LimitUse) => boolean
