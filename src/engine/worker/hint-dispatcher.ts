import type { Hint } from "../../ports/store.ts"
import type { EngineListener } from "../engine-listener.ts"
import type { ClaimingWorker } from "./claiming-worker.ts"

const anyHint: Hint = { work: true, ends: true, updatesAnswered: true, changed: true }

/**
 * Reacts to hints that another process may have changed something. There are two queues, and neither waits for the other: the worker checks its
 * messages and claims, and the listeners check what their callers wait for. Hints that arrive while a queue is busy become one more round of that queue.
 */
export class HintDispatcher {
  readonly #listeners: readonly EngineListener[]
  readonly #work: HintQueue
  readonly #waiters: HintQueue

  constructor(worker: Pick<ClaimingWorker, "refresh" | "hint">, listeners: readonly EngineListener[]) {
    this.#listeners = listeners
    this.#work = new HintQueue(async ({ work }) => (typeof work === "boolean" ? worker.refresh() : worker.hint(work)))
    this.#waiters = new HintQueue(async (hint) => {
      for (const listener of listeners) await listener.refresh?.(hint)
    })
  }

  async handleHint(hint: Hint = anyHint): Promise<void> {
    for (const listener of this.#listeners) listener.onHint?.(hint)
    await Promise.all([hint.work ? this.#work.push(hint) : undefined, this.#waiters.push(hint)])
  }
}

/** Handles one hint at a time. Hints that arrive meanwhile are merged into the next one. */
class HintQueue {
  readonly #handle: (hint: Hint) => Promise<void>
  #next: Hint | undefined
  #handling: Promise<void> | undefined

  constructor(handle: (hint: Hint) => Promise<void>) {
    this.#handle = handle
  }

  push(hint: Hint): Promise<void> {
    this.#next = this.#next ? merge(this.#next, hint) : hint
    this.#handling ??= this.#handleAll()
    return this.#handling
  }

  async #handleAll(): Promise<void> {
    try {
      for (let hint = this.#next; hint !== undefined; hint = this.#next) {
        this.#next = undefined
        await this.#handle(hint)
      }
    } finally {
      // Cleared here, and not when the promise settles: a hint that arrives in between would wait for a round that is over.
      this.#handling = undefined
    }
  }
}

function merge(a: Hint, b: Hint): Hint {
  return {
    work: mergeIds(a.work, b.work),
    ends: mergeIds(a.ends, b.ends),
    updatesAnswered: a.updatesAnswered || b.updatesAnswered,
    changed: a.changed || b.changed,
  }
}

function mergeIds(a: boolean | readonly string[], b: boolean | readonly string[]): boolean | readonly string[] {
  if (a === true || b === true) return true
  if (a === false || b === false) return a || b
  return [...a, ...b]
}
