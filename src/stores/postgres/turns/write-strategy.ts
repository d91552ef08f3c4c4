import { isTerminal } from "../../../core/journal/status.ts"
import type { Turn } from "../../../ports/journal-store.ts"
import { inRounds, type Rounds } from "./rounds.ts"

/**
 * Chooses how turns are written. This is the only place that decides it.
 *
 *   method            function                     chosen for                                     if it cannot write
 *   single            one of `*_single_turn`       one turn without tasks, unless the instance's  fresh batch
 *                                                  turns were refused before
 *   fresh batch       `write_fresh_turns`          several turns that do not depend on each       plain batch
 *                                                  other
 *   plain batch       `write_turns`                turns that depend on each other, in rounds     under flow locks,
 *                                                  within one transaction                         for some turns
 *   under flow locks  `write_turns`, with_flow     turns that change slots of instances with      (it can)
 *                                                  limits, in a second transaction
 *
 * Why. A single turn costs the server half of a batch of one; its function refuses everything unusual, without writing. A fresh batch has no ON CONFLICT, which
 * would cost a look-up for each row; it fails as a whole if another worker has taken a position, which is rare. A plain batch works in every case. The locks
 * of flow control are expensive and shared by all instances of a workflow, so only turns that change slots wait for them. A batch leaves over the
 * turns that need them (`flow`); turns that are known to need them are not tried without.
 *
 * Transactions of steps, of callers and of schedules write plain batches, or under flow locks, because a failed fresh batch would end the transaction.
 */
export type WriteMethod = "single" | "fresh batch" | "plain batch"

/** How to write a batch. */
export interface WriteChoice {
  readonly method: WriteMethod
  /** Turns that are written without locks, in their order. */
  readonly turns: readonly Turn[]
  readonly rounds: Rounds
  /** Turns that are known to need the locks of flow control. */
  readonly underLocks: ReadonlySet<Turn>
}

const knownMax = 10_000

export class WriteStrategy {
  /** Instances with a turn that could not be written as a single turn. An instance with limits refuses all of them. */
  readonly #notSingle = new Set<string>()
  /** Instances that were claimed with limits. */
  readonly #limited = new Set<string>()

  choose(all: readonly Turn[]): WriteChoice {
    const rounds = inRounds(all)
    if (rounds.length > 1) return { method: "plain batch", turns: all, rounds, underLocks: new Set() }
    const underLocks = new Set(all.filter((turn) => this.#limited.has(turn.instance) && changesSlots(turn)))
    for (const { instance, state } of all) if (state && isTerminal(state.status)) this.#limited.delete(instance)
    const turns = underLocks.size === 0 ? all : all.filter((turn) => !underLocks.has(turn))
    // The functions for single turns write no tasks.
    const isSingle = turns.length === 1 && turns.every(({ instance, tasks, endsTasks }) => (tasks ?? endsTasks) === undefined && !this.#notSingle.has(instance))
    return { method: isSingle ? "single" : "fresh batch", turns, rounds, underLocks }
  }

  /** The instance was claimed with limits. */
  noteLimited(id: string): void {
    remember(this.#limited, id)
  }

  /** The turn could not be written as a single turn. */
  noteNotSingle({ instance }: Turn): void {
    remember(this.#notSingle, instance)
  }
}

function remember(ids: Set<string>, id: string): void {
  if (ids.size >= knownMax) ids.clear()
  ids.add(id)
}

/** As `write_turn` decides it: an instance that continues to run keeps its slots. */
function changesSlots({ create, state }: Turn): boolean {
  return create === undefined && state !== undefined && !(state.status === "running" && state.phase !== "cancelling")
}
