import type { LimitOverride, LimitState } from "../flow-control.ts"

/**
 * The numbers that were set for the limits of one workflow, if each limit key is in an object of its own. A key joins before it grants its first slot,
 * and is told of each change until it leaves. Each method is one atomic operation.
 */
export interface WorkflowLimitSettings {
  /** The numbers in force for each limit of the workflow, and the declared ones where they differ. */
  limitsGet(workflow: string): Promise<readonly LimitState[]>
  /** Sets numbers. Resolves when all keys that can be reached have received them. `unknown`: the workflow has no such limit, and nothing was changed. */
  limitsSet(workflow: string, changes: readonly LimitOverride[]): Promise<"changed" | "unknown">
  /** Registers a key, and returns the setting of its limit. From then on the key is told of changes. */
  limitsJoin(key: LimitKeyEntry): Promise<LimitSetting>
  /** Removes a key: it has no state left, and need not be told of changes. */
  limitsLeave(key: Pick<LimitKeyEntry, "key" | "token">): Promise<void>
}

export interface LimitKeyEntry {
  readonly key: string
  /** The name of the limit within the workflow. */
  readonly name: string
  /** A random token for each join, which tells a key from the same key after it left and joined again. */
  readonly token: string
}

/** The setting of one limit. Of two settings, the one with the higher revision counts. */
export interface LimitSetting {
  readonly revision: number
  /** The numbers that were set. Undefined: the declared numbers are in force. */
  readonly to?: { readonly max: number; readonly perMs?: number }
}

/** The setting of a limit as one of its keys stores it. Everything is synchronous, and each method is one transaction. */
export interface KeySettings {
  /** The numbers that were set. Undefined: the declared numbers are in force. */
  readonly inForce: LimitSetting["to"]
  readonly isJoined: boolean
  /** To be called before the key calls `limitsJoin`: stores and returns the membership. If an earlier call failed, it returns that membership again. */
  join(key: Omit<Membership, "token">): Membership
  /** Stores a setting, from the answer to `limitsJoin` or from a later change. False: the token is that of another membership. */
  receive(token: string, setting: LimitSetting): boolean
  /** Ends the membership and returns it. The key has to join again before it grants a slot. Undefined: it had not joined. */
  leave(): Membership | undefined
}

/** The registration of a key with the settings of its workflow's limits. */
export interface Membership extends LimitKeyEntry {
  readonly workflow: string
}

/** The stored settings of one workflow's limits. Everything is synchronous, and each method is one transaction. */
export interface LimitSettingsTables {
  /** False: nothing was ever written, or everything was deleted. Then nothing is set, and no key has joined. */
  isThere(): boolean
  /** The numbers that are set, by the name of the limit. */
  overrides(): ReadonlyMap<string, NonNullable<LimitSetting["to"]>>
  set(changes: readonly LimitOverride[]): void
  join(key: LimitKeyEntry): LimitSetting
  leave(key: Pick<LimitKeyEntry, "key" | "token">): void
  /** Keys behind `after` that have not acknowledged the last change of their limit, with that setting. */
  unnotified(limit: number, after?: string): readonly (LimitKeyEntry & { readonly setting: LimitSetting })[]
  markNotified(key: LimitKeyEntry, revision: number): void
  /** True: nothing is set, and no key has joined. */
  isEmpty(): boolean
}
