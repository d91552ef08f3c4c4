import type { EntryOf } from "../../core/journal/journal.ts"
import type { ClientTransaction, ClientTransactions, Undone } from "../../ports/transactions.ts"
import type { RunnerContext } from "../runner/runner-context.ts"
import type { StepAttempt } from "./step-attempt.ts"
import { completedEntry, retryDelayMs, lockInTurn } from "./step-transactions.ts"
import type { TurnWriter } from "../runner/turn-writer.ts"

/**
 * Transactions of steps on a database server. As in `StepTransactions`, the rows that the function writes and `step.completed` are one transaction, but
 * here the function is awaited, and has a connection of its own.
 *
 *   ask     ──► an input of the runner's loop: the draft is written, and the writer is locked, so that nothing of the instance is recorded
 *           ──► a transaction begins, the function runs in it, its result is encoded, the turn is written, COMMIT
 *   outcome ──► committed: the result is recorded and released
 *           ──► the server refused a statement, or the function threw: rolled back, and the attempt has failed
 *           ──► the attempt is over before its function: rolled back at once
 *           ──► the connection was lost before COMMIT was sent: nothing was written, and the same attempt is tried again
 *           ──► the turn was lost, or its outcome is unknown: the instance is dropped, and loaded again
 *
 * The writer is locked before the transaction takes any lock in the database. Otherwise a turn of the instance could wait for such a lock, and so for the
 * transaction, while the transaction waits for that turn.
 */
export class StepClientTransactions {
  readonly #context: RunnerContext
  readonly #transactions: ClientTransactions
  readonly #writer: TurnWriter
  readonly #submit: (input: { handle(): void }) => void

  constructor(context: RunnerContext, transactions: ClientTransactions, writer: TurnWriter, submit: (input: { handle(): void }) => void) {
    this.#context = context
    this.#transactions = transactions
    this.#writer = writer
    this.#submit = submit
  }

  /** Resolves with the function's result once it is durable. For an attempt that is over, the promise stays pending. */
  async run(attempt: StepAttempt, fn: (client: unknown) => unknown): Promise<unknown> {
    const { host, timers } = this.#context
    for (let outages = 1; ; outages++) {
      await lockInTurn(attempt, this.#writer, this.#submit, () => this.#writer.sealAndLock())
      const outcome = await this.#tryOnce(attempt, fn)
      if ("value" in outcome) return outcome.value
      // There is no limit of tries: no instance fails because a server is unreachable.
      const { error } = outcome
      if (outages === 1) host.log.error(`transaction "${attempt.ask.id}" of instance "${attempt.instance}" could not be made; trying again`, { error })
      await new Promise<void>((resolve) => timers.after(retryDelayMs(outages), resolve))
    }
  }

  async #tryOnce(attempt: StepAttempt, fn: (client: unknown) => unknown): Promise<Outcome> {
    let transaction: ClientTransaction
    try {
      transaction = await this.#transactions.begin()
    } catch (error) {
      this.#writer.unlock()
      return { error }
    }
    let value: unknown
    let entry: EntryOf<"step.completed">
    try {
      value = await this.#call(attempt, () => fn(transaction.client))
      entry = completedEntry(this.#context, attempt, value)
    } catch (error) {
      await transaction.rollBack()
      this.#writer.unlock()
      if (transaction.lostBy === undefined) throw error
      return { error: transaction.lostBy }
    }
    let undone: Undone | undefined
    try {
      undone = await this.#writer.commitWith(transaction, entry)
    } catch (error) {
      // The turn could not be built, for example because a codec failed.
      await transaction.rollBack()
      this.#writer.unlock()
      throw error
    }
    if (undone === undefined) return { value }
    if (undone.isOutage) return { error: undone.undoneBy }
    throw undone.undoneBy
  }

  /** Calls the function, and rejects as soon as the attempt is over: the function may never end, and the transaction must not stay open. */
  #call(attempt: StepAttempt, fn: () => unknown): Promise<unknown> {
    const { host } = this.#context
    return new Promise((resolve, reject) => {
      const over = () => reject(new Error("the attempt is over"))
      attempt.onOver = over
      if (attempt.isOver) return over()
      try {
        Promise.resolve(host.currentScope() === attempt ? fn() : host.runIn(attempt, fn)).then(resolve, reject)
      } catch (error) {
        reject(error)
      }
    })
  }
}

type Outcome = { readonly value: unknown } | { readonly error: unknown }
