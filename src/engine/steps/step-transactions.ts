import { encodeValue, Payload } from "../../core/values/value-codec.ts"
import { PerdureError } from "../../core/errors.ts"
import type { EntryOf } from "../../core/journal/journal.ts"
import type { Sql } from "../../core/workflow/transaction-sql.ts"
import { isStoreTrouble } from "../../core/values/transient-error.ts"
import type { RunnerContext } from "../runner/runner-context.ts"
import type { StepAttempt } from "./step-attempt.ts"
import type { TurnWriter } from "../runner/turn-writer.ts"

/**
 * The steps of one instance whose functions write to tables of the user's: what they write and `step.completed` are one transaction.
 *
 *   asked ──► taken in, among the inputs; from here on nothing of the instance is recorded
 *         ──► in the store's transaction: the function runs, its result is encoded, the turn is written, COMMIT
 *         ──► committed: recorded and released, as any result
 *         ──► nothing written, because the function failed: the attempt has failed; all in memory is as it was
 *         ──► nothing written, because the store failed before or within: tried again later, as the same attempt
 *         ──► lost, or not known: the instance is dropped and loaded again
 */
export class StepTransactions {
  readonly #context: RunnerContext
  readonly #writer: TurnWriter
  readonly #submit: (input: { handle(): void }) => void

  constructor(context: RunnerContext, writer: TurnWriter, submit: (input: { handle(): void }) => void) {
    this.#context = context
    this.#writer = writer
    this.#submit = submit
  }

  /** Gives the function's result once it is durable. An attempt that nobody waits for any more gets no answer. */
  async run(attempt: StepAttempt, fn: (sql: Sql) => unknown): Promise<unknown> {
    const { transactions, host, timers } = this.#context
    if (transactions === undefined) throw futile(attempt, noTransactionsError(attempt.ask.id))
    for (let failures = 1; ; failures++) {
      await lockInTurn(attempt, this.#writer, this.#submit, () => this.#writer.lock())
      let value: unknown
      let called = false
      const make = (sql: Sql): EntryOf<"step.completed"> => {
        // The store may have waited for the lock of another process, and the attempt may have timed out meanwhile.
        if (attempt.isOver) throw new Error("the attempt is over")
        called = true
        value = host.currentScope() === attempt ? fn(sql) : host.runIn(attempt, () => fn(sql))
        return completedEntry(this.#context, attempt, synchronous(attempt, value))
      }
      try {
        // Awaited here, and not by whoever takes it in, so that the function runs in the async context of its interceptors.
        await this.#writer.transact(transactions, make)
        return value
      } catch (error) {
        if ((called && !isStoreTrouble(error)) || failures > retriesMax) throw error
        if (failures === 1 && !attempt.isOver)
          host.log.error(`transaction "${attempt.ask.id}" of instance "${attempt.instance}" could not be made; trying again`, { error })
        await new Promise<void>((resolve) => timers.after(retryDelayMs(failures), resolve))
      }
    }
  }
}

/** Resolves when it is taken in, and the writer is held for it. */
export function lockInTurn(attempt: StepAttempt, writer: TurnWriter, submit: (input: { handle(): void }) => void, lock: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const input = {
      handle: () => {
        if (attempt.isOver) return
        if (lock()) resolve()
        else writer.whenWritten({ afterCommit: () => later(() => submit(input)) })
      },
    }
    later(() => submit(input))
  })
}

export function completedEntry(context: RunnerContext, attempt: StepAttempt, value: unknown): EntryOf<"step.completed"> {
  try {
    const result = Payload.of(encodeValue(value, context.settings.resultEncoding), attempt.isSensitive)
    return { type: "step.completed", id: attempt.ask.id, value: result }
  } catch (error) {
    throw futile(attempt, error)
  }
}

function synchronous(attempt: StepAttempt, value: unknown): unknown {
  if (!isThenable(value)) return value
  // It goes on by itself, and finds the transaction closed: that is told here already.
  value.then(undefined, () => undefined)
  throw futile(attempt, asyncTransactionError(attempt.ask.id))
}

/** How long to wait before a transaction is tried again that nothing came of. */
export function retryDelayMs(failures: number): number {
  return Math.min(retryMs * 2 ** (failures - 1), retryMsMax)
}

const retryMs = 100
const retryMsMax = 5_000
/** Some minutes, as for any other turn. Then the attempt has failed. */
const retriesMax = 40

/** Not within what made it possible: that has things of its own to finish first. */
function later(then: () => void): void {
  void Promise.resolve().then(then)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false
  return "then" in value && typeof value.then === "function"
}

/** No further attempt can help. */
function futile(attempt: StepAttempt, error: unknown): unknown {
  attempt.isFutile = true
  return error
}

function asyncTransactionError(id: string): PerdureError {
  return new PerdureError(
    "ASYNC_TRANSACTION",
    `the function of transaction "${id}" returned a promise, and nothing was written; make the function synchronous, and await in a step before the transaction`,
    { details: { step: id } },
  )
}

function noTransactionsError(id: string): PerdureError {
  return new PerdureError(
    "NO_TRANSACTIONS",
    `this store has no transactions, which "${id}" needs; use sqlite(…) or postgres(…), or in a test sqlite(":memory:") or mockStep`,
    { details: { step: id } },
  )
}
