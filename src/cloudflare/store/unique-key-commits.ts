import { isTerminal } from "../../core/journal/status.ts"
import type { UniqueUse } from "../../ports/flow-control.ts"
import type { Turn, TurnOutcome } from "../../ports/journal-store.ts"
import type { ObjectStoreOptions } from "./object-store.ts"
import type { SlotRequester } from "./slot-requester.ts"

/** Commits turns of an instance that may need unique keys. The instance gets its keys before it is created, and before it is restarted. */
export class UniqueKeyCommits {
  readonly #keys: Pick<SlotRequester, "withKeys">
  readonly #directory: ObjectStoreOptions["directory"]
  readonly #afterWrite: () => void
  /** True: the instance is running and has its keys. False: not known; the next turn reads it. */
  #isRunning = false

  constructor(keys: Pick<SlotRequester, "withKeys">, directory: ObjectStoreOptions["directory"], afterWrite: () => void) {
    this.#keys = keys
    this.#directory = directory
    this.#afterWrite = afterWrite
  }

  /** The keys that the instance needs before these turns are written. */
  async missingKeys(turns: readonly Turn[]): Promise<readonly UniqueUse[]> {
    const unique = turns[0] === undefined ? [] : await this.#missingFor(turns[0])
    if (turns.some(({ state }) => state && isTerminal(state.status))) this.#isRunning = false
    return unique
  }

  async #missingFor({ instance, create, state }: Turn): Promise<readonly UniqueUse[]> {
    if (create) return create.flow?.unique ?? []
    if (state === undefined || this.#isRunning || isTerminal(state.status)) return []
    const row = await this.#directory.get(instance)
    this.#isRunning = row !== undefined && !isTerminal(row.status)
    return this.#isRunning ? [] : (row?.flow?.unique ?? []).filter(({ kind }) => kind === "singleton")
  }

  async commit(turns: readonly Turn[], unique: readonly UniqueUse[], write: () => Promise<readonly TurnOutcome[]>): Promise<readonly TurnOutcome[]> {
    const { instance, incarnation } = turns[0] as Turn
    const outcomes = await this.#keys.withKeys({ id: instance, incarnation }, unique, write, this.#afterWrite)
    return outcomes ?? turns.map(() => "lost" as const)
  }
}
