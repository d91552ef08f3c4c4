import type { EntryOf } from "../../core/journal/journal.ts"
import type { ClientTransaction, ClientTransactions, Undone } from "../../ports/transactions.ts"
import type { RunnerContext } from "../runner/runner-context.ts"
import type { StepAttempt } from "./step-attempt.ts"
import { completedEntry, retryDelayMs, lockInTurn } from "./step-transactions.ts"
import type { TurnWriter } from "../runner/turn-writer.ts"

/**
 * The same as `StepTransactions` on a store that is a server: the function is awaited, on a connection of its own.
 *
 *   asked ──► taken in, among the inputs; what has gathered is written, and from here on nothing of the instance is recorded
 *         ──► a transaction is begun, the function runs in it, its result is encoded, the turn is written, COMMIT
 *         ──► what the server refused, or the function threw: rolled back, the attempt has failed
 *         ──► the attempt is over before its function: rolled back at once
 *         ──► the connection is lost before COMMIT was sent: nothing was written; tried again, as the same attempt
 *         ──► lost, or not known: the instance is dropped and loaded again
 *
 * The instance is held before its transaction takes any lock in the database. Otherwise a turn of it that waits for such a lock would
 * wait for the transaction, and the transaction for the turn.
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

  /** Gives the function's result once it is durable. An attempt that nobody waits for any more gets no answer. */
  async run(attempt: StepAttempt, fn: (client: unknown) => unknown): Promise<unknown> {
    const { host, timers } = this.#context
    for (let outages = 1; ; outages++) {
      await lockInTurn(attempt, this.#writer, this.#submit, () => this.#writer.sealAndLock())
      const outcome = await this.#tryOnce(attempt, fn)
      if ("value" in outcome) return outcome.value
      // However long it takes: no instance fails because a server is away.
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
      // The turn could not be put together: a codec failed, say.
      await transaction.rollBack()
      this.#writer.unlock()
      throw error
    }
    if (undone === undefined) return { value }
    if (undone.isOutage) return { error: undone.undoneBy }
    throw undone.undoneBy
  }

  /** Whoever waits for an attempt that is over would wait for its function, which may never end. */
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
