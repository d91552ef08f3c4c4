// What a step that writes to the user's own tables does on every store that has transactions: its writes and its record in the journal are one.

import { type AnyWorkflow, type Client, type Context, NonRetryableError, type PerdureError, type PerdureOptions, type StepOptions, workflow } from "perdure"
import { describe, expect, it } from "vitest"

interface TransactionStep {
  readonly attempt: number
  readonly idempotencyKey: string
  readonly signal: AbortSignal
}

/** A database with a table `account` of the user, in which ada has 100 and bob nothing. */
export interface TransactionBed {
  open(workflows: readonly AnyWorkflow[], options?: Pick<PerdureOptions, "limits">): Promise<Pick<Client, "start">>
  /** Moves an amount from ada to bob in a transaction of the workflow. `finish` runs in the same transaction, and gets the new balance of bob. */
  move<T>(
    ctx: Pick<Context, "transaction">,
    name: string,
    amount: number,
    finish: (balance: number, step: TransactionStep) => T,
    options?: StepOptions<T>,
  ): Promise<T>
  /** The balances of ada and bob. */
  balances(): Promise<readonly number[]> | readonly number[]
  /** Lets the pauses between attempts pass. */
  passRetries(): Promise<void>
}

const quick = { retry: { maxAttempts: 3, initialInterval: 1, backoff: "fixed" } } as const
const causeOf = (error: unknown) => [(error as PerdureError).code, ((error as Error).cause as Error).message]
const same = (balance: number) => balance

const fail = (error: Error) => (): number => {
  throw error
}

export function describeTransactions(store: string, bed: TransactionBed): void {
  describe(`a transaction on ${store}`, () => {
    it("writes to the user's tables, gives the function's result, and is a step in the journal", async () => {
      const pay = workflow("pay", async (ctx, amount: number) => {
        const balance = await bed.move(ctx, "move", amount, (moved, { attempt, idempotencyKey, signal }) => {
          expect([attempt, idempotencyKey.length, signal.aborted]).toEqual([1, 64, false])
          return moved
        })
        return ctx.do("tell", () => `bob has ${balance}`)
      })
      const engine = await bed.open([pay])
      const handle = await engine.start(pay, { id: "i", input: 30 })
      expect(await handle.result()).toBe("bob has 30")
      expect(await bed.balances()).toEqual([70, 30])
      expect(await handle.steps()).toMatchObject([
        { id: "move", type: "transaction", status: "completed", result: 30, attempts: 1 },
        { id: "tell", type: "do" },
      ])
      expect((await handle.history()).entries.map(({ type, data }) => ({ type, ...data }))).toMatchObject([
        { type: "run.started" },
        { type: "step.started", id: "move", attempt: 1, kind: "transaction" },
        { type: "step.completed", id: "move", value: 30 },
        { type: "step.started", id: "tell" },
        { type: "step.completed", id: "tell" },
        { type: "run.completed" },
      ])
    })

    it("that throws leaves nothing behind, and is tried again like any step", async () => {
      const attempts: number[] = []
      const pay = workflow("pay", async (ctx) =>
        bed.move(
          ctx,
          "move",
          10,
          (balance, { attempt }) => {
            attempts.push(attempt)
            if (attempt < 3) throw new Error(`no luck ${attempt}`)
            return balance
          },
          quick,
        ),
      )
      const engine = await bed.open([pay])
      const handle = await engine.start(pay)
      await bed.passRetries()
      expect(await handle.result()).toBe(10)
      expect(attempts).toEqual([1, 2, 3])
      expect(await bed.balances()).toEqual([90, 10])
    })

    it("fails for good when its attempts are used up, or at once with a NonRetryableError, and that can be caught", async () => {
      const pay = workflow("pay", async (ctx) => [
        await bed.move(ctx, "hopeless", 1, fail(new Error("broken")), { retry: { ...quick.retry, maxAttempts: 2 } }).catch(causeOf),
        await bed.move(ctx, "final", 1, fail(new NonRetryableError("never"))).catch(causeOf),
      ])
      const engine = await bed.open([pay])
      const handle = await engine.start(pay)
      await bed.passRetries()
      expect(await handle.result()).toEqual([
        ["STEP_FAILED", "broken"],
        ["STEP_FAILED", "never"],
      ])
      expect((await handle.steps()).map(({ attempts }) => attempts)).toEqual([2, 1])
      expect(await bed.balances()).toEqual([100, 0])
    })

    it.each([
      ["UNSERIALIZABLE", () => ({ fn: () => 1 })],
      ["PAYLOAD_TOO_LARGE", () => "x".repeat(2_000)],
    ] as const)("whose result cannot be stored (%s) writes nothing, and is not tried again", async (code, result) => {
      const odd = workflow("odd", async (ctx) => bed.move<unknown>(ctx, "move", 1, result))
      const engine = await bed.open([odd], { limits: { payloadBytesMax: 1_000 } })
      const handle = await engine.start(odd)
      await expect(handle.result()).rejects.toMatchObject({ code: "STEP_FAILED", cause: { code } })
      expect((await handle.steps())[0]).toMatchObject({ attempts: 1, status: "failed" })
      expect(await bed.balances()).toEqual([100, 0])
    })

    it("gives its result to its rollback", async () => {
      const undone: unknown[] = []
      const failing = workflow("failing", async (ctx) => {
        await bed.move(ctx, "move", 10, same, { rollback: (balance) => void undone.push(balance) })
        throw new Error("too bad")
      })
      const engine = await bed.open([failing])
      const handle = await engine.start(failing)
      await expect(handle.result()).rejects.toThrow("too bad")
      expect(undone).toEqual([10])
      expect((await handle.steps()).map(({ type }) => type)).toEqual(["transaction", "rollback"])
    })

    it("is made again under another key by a restart, and not by a restart from a later step", async () => {
      const keys: string[] = []
      const pay = workflow("pay", async (ctx) => {
        const balance = await bed.move(ctx, "move", 10, (moved, { idempotencyKey }) => {
          keys.push(idempotencyKey)
          return moved
        })
        return ctx.do("after", () => balance)
      })
      const engine = await bed.open([pay])
      const handle = await engine.start(pay, { id: "i" })
      await handle.result()
      await handle.restart({ from: "after" })
      expect(await handle.result()).toBe(10)
      await handle.restart()
      expect(await handle.result()).toBe(20)
      expect(new Set(keys).size).toBe(2)
      expect(await bed.balances()).toEqual([80, 20])
    })
  })
}
