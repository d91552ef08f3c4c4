import { encodeValue, Payload } from "../../core/values/value-codec.ts"
import { PerdureError } from "../../core/errors.ts"
import type { EntryOf } from "../../core/journal/journal.ts"
import type { Sql } from "../../core/workflow/transaction-sql.ts"
import { isStoreTrouble } from "../../core/values/transient-error.ts"
import type { RunnerContext } from "../runner/runner-context.ts"
import type { StepAttempt } from "./step-attempt.ts"
import type { TurnWriter } from "../runner/turn-writer.ts"

/**
 * Transactions of steps: the rows that the function writes to the user's tables and `step.completed` are one transaction. So these rows are written
 * exactly once. This is the version for stores in this process, where the function is synchronous.
 *
 *   ask     ──► an input of the runner's loop: the writer is locked, so that nothing of the instance is recorded
 *           ──► in the store's transaction: the function runs, its result is encoded, the turn is written, COMMIT
 *   outcome ──► committed: the result is recorded and released
 *           ──► the function failed: nothing was written, memory is as before, and the attempt has failed
 *           ──► the store failed: nothing was written, and the same attempt is tried again later
 *           ──► the turn was lost, or its outcome is unknown: the instance is dropped, and loaded again
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

  /** Resolves with the function's result once it is durable. For an attempt that is over, the promise stays pending. */
  async run(attempt: StepAttempt, fn: (sql: Sql) => unknown): Promise<unknown> {
    const { transactions, host, timers } = this.#context
    if (transactions === undefined) throw futile(attempt, noTransactionsError(attempt.ask.id))
    for (let failures = 1; ; failures++) {
      await lockInTurn(attempt, this.#writer, this.#submit, () => this.#writer.lock())
      let value: unknown
      let called = false
      const make = (sql: Sql): EntryOf<"step.completed"> => {
        // The store may have waited for another process's lock, and the attempt may have timed out in the meantime.
        if (attempt.isOver) throw new Error("the attempt is over")
        called = true
        value = host.currentScope() === attempt ? fn(sql) : host.runIn(attempt, () => fn(sql))
        return completedEntry(this.#context, attempt, synchronous(attempt, value))
      }
      try {
        // Awaited here, and not by the runner's loop, so that the function runs in the async context of its interceptors.
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

/** Resolves when the runner's loop has reached the ask, and has locked the writer for it. */
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
  // The function continues by itself, and finds the transaction closed. The error below says so already.
  value.then(undefined, () => undefined)
  throw futile(attempt, asyncTransactionError(attempt.ask.id))
}

/** The delay before a transaction that wrote nothing is tried again. */
export function retryDelayMs(failures: number): number {
  return Math.min(retryMs * 2 ** (failures - 1), retryMsMax)
}

const retryMs = 100
const retryMsMax = 5_000
/** These retries take some minutes, as for any other turn. Then the attempt has failed. */
const retriesMax = 40

/** Runs `then` after the current call has finished its own work. */
function later(then: () => void): void {
  void Promise.resolve().then(then)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false
  return "then" in value && typeof value.then === "function"
}

/** Marks the attempt: no further attempt can help. */
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
