import { isTerminal } from "../../core/journal/status.ts"
import type { UniqueUse } from "../../ports/flow-control.ts"
import type { Turn, TurnOutcome } from "../../ports/journal-store.ts"
import type { ObjectStoreOptions } from "./object-store.ts"
import type { SlotRequester } from "./slot-requester.ts"

/** Turns of an instance that may have keys to itself: it has them before it begins to be, or to be again. */
export class UniqueKeyCommits {
  readonly #keys: Pick<SlotRequester, "withKeys">
  readonly #directory: ObjectStoreOptions["directory"]
  readonly #onWritten: () => void
  /** The instance is under way, and has the keys that it is to have; false: that is to be looked up. */
  #isUnderWay = false

  constructor(keys: Pick<SlotRequester, "withKeys">, directory: ObjectStoreOptions["directory"], onWritten: () => void) {
    this.#keys = keys
    this.#directory = directory
    this.#onWritten = onWritten
  }

  /** Those that are to be had before the turns. */
  async lacking(turns: readonly Turn[]): Promise<readonly UniqueUse[]> {
    const unique = turns[0] === undefined ? [] : await this.#lackingFor(turns[0])
    if (turns.some(({ state }) => state && isTerminal(state.status))) this.#isUnderWay = false
    return unique
  }

  async #lackingFor({ instance, create, state }: Turn): Promise<readonly UniqueUse[]> {
    if (create) return create.flow?.unique ?? []
    if (state === undefined || this.#isUnderWay || isTerminal(state.status)) return []
    const row = await this.#directory.get(instance)
    this.#isUnderWay = row !== undefined && !isTerminal(row.status)
    return this.#isUnderWay ? [] : (row?.flow?.unique ?? []).filter(({ kind }) => kind === "singleton")
  }

  async commit(turns: readonly Turn[], unique: readonly UniqueUse[], write: () => Promise<readonly TurnOutcome[]>): Promise<readonly TurnOutcome[]> {
    const { instance, incarnation } = turns[0] as Turn
    const outcomes = await this.#keys.withKeys({ id: instance, incarnation }, unique, write, this.#onWritten)
    return outcomes ?? turns.map(() => "lost" as const)
  }
}
