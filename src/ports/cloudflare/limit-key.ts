import type { LimitUse } from "../flow-control.ts"
import type { KeySettings, LimitSetting } from "./limit-settings.ts"

/**
 * One key of one limit, in an object of its own: its members have slots or wait for them. Members request and return slots themselves. A member that
 * asks again gets the present state, and only the latest answer counts. Each method is one atomic operation.
 */
export interface LimitKey {
  /** Requests a slot. If none is free, the member joins the queue, except for a unique key. */
  slotAsk(ask: SlotAsk): Promise<SlotAnswer>
  /** Returns the member's slot, or removes it from the queue. */
  slotGive(member: SlotMember): Promise<void>
  /** The id of an instance that has a slot. */
  slotHolder(): Promise<string | undefined>
}

/** The key's side of `WorkflowLimitSettings`. */
export interface LimitKeyListener {
  /** Tells the key a new setting of its limit. False: the key has not joined, or has joined with another token. */
  limitsChanged(token: string, setting: LimitSetting): Promise<boolean>
}

/** The stored state of a key, for the object that runs it. Everything but the requests is synchronous, and each method is one transaction. */
export interface LimitTables extends LimitKey {
  /** The limit's numbers may have changed, by a setting or by newer code. Admits waiting members that fit now. */
  settingsChanged(): void
  /** Admits waiting members that the rate allows now. */
  wake(): void
  /** When the rate admits the next waiting member. */
  nextDueAt(): number | undefined
  /** Members that were admitted from the queue and have not been notified yet. */
  unnotified(limit: number): readonly SlotMember[]
  markNotified(member: SlotMember): void
  /** Whether a member waits in the queue. */
  isWaitedFor(): boolean
  /** From when on the key has no state worth keeping. Undefined: a member has a slot, or waits. */
  emptyAt(): number | undefined
  /** The setting of the limit, as far as the key knows it. */
  readonly settings: KeySettings
  /** Members that have slots and have not called since a time. */
  silentMembers(since: number, limit: number): readonly SlotMember[]
  /** The member has confirmed that it has its slot. */
  markSeen(member: SlotMember): void
}

export interface SlotMember {
  readonly id: string
  readonly incarnation: string
}

export interface SlotAsk extends SlotMember {
  readonly use: LimitUse
  readonly priority: number
  /** The instance is being cancelled and has little time to clean up, so it goes before all others. */
  readonly isCancelling?: boolean
}

/** `held`: how many slots are taken. `ahead`: how many members are admitted before this one. `until`: when the rate admits it, if it is the next. */
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
