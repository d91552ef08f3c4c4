import type { LimitUse, UniqueUse } from "../flow-control.ts"
import type { SlotAsk, SlotMember } from "./limit-key.ts"

/**
 * The slots that the object of an instance has requested from limit keys in other objects, has, or has to return. A row is written before the key is
 * asked, and stays until the key has confirmed the return, so no slot is forgotten. Everything is synchronous, and each method is one transaction.
 *
 *   asked ──► held ──► returning ──► (gone)
 *     └──────────────────▲
 */
export interface SlotRequests {
  /** The calls to make: requests for the slots that the instance waits for, and returns of slots that it no longer wants. */
  work(): SlotRequestWork
  /** The key has granted its slot. */
  granted(key: string): void
  /** The key has confirmed the return. */
  returned(key: string): void
  /**
   * Requests unique keys for an instance that does not exist yet. Until `settled` is called, `work` does not return them. Undefined: the object has,
   * or is about to have, another instance.
   */
  reserve(member: SlotMember, uses: readonly UniqueUse[]): readonly SlotRequest[] | undefined
  /** The instance now exists, or was not created. Keys that it does not have are returned. */
  settled(member: SlotMember, uses: readonly UniqueUse[]): void
  /** Whether the member has the slot, or still wants it. */
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

/** Whether the instance holds a slot of the limit. It is called inside the transaction that needs the slot. */
export type IsPermitted = (use: LimitUse) => boolean
