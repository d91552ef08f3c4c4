import type { LimitOverride, LimitState } from "../flow-control.ts"

/**
 * What was set for the limits of one workflow, where each of their keys lives in a place of its own: a key asks here once, before it gives out its
 * first slot, and is told of what changes from then on until it leaves. Each method is one atomic operation.
 */
export interface WorkflowLimitSettings {
  /** What was set for each limit of the workflow, and what its code says. */
  limitsGet(workflow: string): Promise<readonly LimitState[]>
  /** Answers when all keys that can be reached go by it. `unknown`: there is no such limit, nothing changed. */
  limitsSet(workflow: string, changes: readonly LimitOverride[]): Promise<"changed" | "unknown">
  /** A key asks what was set for its limit, and is told of changes from then on. */
  limitsJoin(key: LimitKeyEntry): Promise<SetNumbers>
  /** A key has nothing left to keep, and is told nothing more. */
  limitsLeave(key: Pick<LimitKeyEntry, "key" | "token">): Promise<void>
}

export interface LimitKeyEntry {
  readonly key: string
  /** Which limit of the workflow. */
  readonly name: string
  /** Drawn for each time that the key joins: who left and joined again is another. */
  readonly token: string
}

/** Of two the one with the higher revision counts. */
export interface SetNumbers {
  readonly revision: number
  /** Undefined: as the code says. */
  readonly to?: { readonly max: number; readonly perMs?: number }
}

/** What a key knows of what was set for its limit. Everything is synchronous, and each method is one transaction. */
export interface KeyNumbers {
  /** Undefined: as the code says. */
  readonly inForce: SetNumbers["to"]
  readonly isJoined: boolean
  /** To be called before it asks: as what it joins now, or did when nobody heard of it. */
  join(key: Omit<Membership, "token">): Membership
  /** What was set, from the answer or from what it is told later. False: that is of another membership. */
  hear(token: string, news: SetNumbers): boolean
  /** It asks again before it gives out a slot. Answers what ends; undefined: it had not joined. */
  leave(): Membership | undefined
}

/** Of a key among those that are told what is set for the limits of a workflow. */
export interface Membership extends LimitKeyEntry {
  readonly workflow: string
}

/** What is kept of one workflow's limits. Everything is synchronous, and each method is one transaction. */
export interface LimitSettingsTables {
  /** False: nothing was ever written, or all of it was deleted; then there is nothing set, and nobody to be told. */
  isThere(): boolean
  /** Names with what is set for them. */
  overrides(): ReadonlyMap<string, NonNullable<SetNumbers["to"]>>
  set(changes: readonly LimitOverride[]): void
  join(key: LimitKeyEntry): SetNumbers
  leave(key: Pick<LimitKeyEntry, "key" | "token">): void
  /** Keys behind this one that have not heard of the last change of their limit, and what they are to be told. */
  untold(limit: number, after?: string): readonly (LimitKeyEntry & { readonly news: SetNumbers })[]
  told(key: LimitKeyEntry, revision: number): void
  /** Nothing is set, and no key goes by it. */
  isEmpty(): boolean
}
