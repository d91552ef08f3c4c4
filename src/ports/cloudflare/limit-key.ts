import type { LimitUse } from "../flow-control.ts"
import type { KeyNumbers, SetNumbers } from "./limit-settings.ts"

/**
 * One key of one limit, where it lives in a place of its own: who has its slots, and who waits for them. Its members ask and give
 * back by themselves; whoever asks again is told how it stands now, and that alone counts. Each method is one atomic operation.
 */
export interface LimitKey {
  /** Takes a slot, or a place in line. */
  slotAsk(ask: SlotAsk): Promise<SlotAnswer>
  /** Gives back the slot, or leaves the line. */
  slotGive(member: SlotMember): Promise<void>
  /** The id of one who has a slot. */
  slotHolder(): Promise<string | undefined>
}

/** A key that is told what was set for its limit. False: it has not joined, or not by this token. */
export interface LimitKeyListener {
  /** Tells the key what was set for its limit. */
  limitsChanged(token: string, news: SetNumbers): Promise<boolean>
}

/** What a key keeps, for whoever keeps it going. */
export interface LimitTables extends LimitKey {
  /** The numbers of the limit may be others than before. */
  numbersChanged(): void
  /** Lets in whose time has come. */
  wake(): void
  nextDueAt(): number | undefined
  /** Members that have their slots and have not asked since. */
  untold(limit: number): readonly SlotMember[]
  told(member: SlotMember): void
  isWaitedFor(): boolean
  /** From when on nothing is left that has to be remembered; undefined: somebody has a slot, or waits. */
  emptyAt(): number | undefined
  /** What was set for the limit. */
  readonly set: KeyNumbers
  /** These have slots, and were not heard of since a time. */
  suspects(since: number, limit: number): readonly SlotMember[]
  seen(member: SlotMember): void
}

export interface SlotMember {
  readonly id: string
  readonly incarnation: string
}

export interface SlotAsk extends SlotMember {
  readonly use: LimitUse
  readonly priority: number
  /** It has little time to clean up, and goes before all others. */
  readonly isCancelling?: boolean
}

/** `ahead`: how many are let in before it. `until`: when the rate allows it, if it is the next. */
export type SlotAnswer =
  | { readonly state: "taken" }
  | {
      readonly state: "waiting"
      readonly max: number
      readonly perMs?: number
      readonly holders: readonly string[]
      readonly held: number
      readonly ahead: number
      readonly until?: number
    }
