import { type AnyWorkflow, type Context, workflow } from "../../src/index.ts"
import type { Ledger } from "./ledger.ts"
import type { PhaseMarks } from "./phases.ts"
import { Scene } from "./scene.ts"

export interface UndoingInput {
  /** The duration of each step and of its rollback, in milliseconds. */
  readonly ms: readonly number[]
  /** How many attempts of each rollback fail. */
  readonly failures: readonly number[]
  /** The workflow fails by itself, or waits until the test ends it. */
  readonly end: "fails" | "waits"
}

const retry = { maxAttempts: 1_000, initialInterval: 10, backoff: "fixed", jitter: 0 } as const

/** A workflow that fails or is cancelled. Its steps and rollbacks write their calls and their inputs to the ledger. */
export function undoingWorkflows(ledger: Ledger, marks: PhaseMarks): readonly AnyWorkflow[] {
  return [
    workflow("undoing", async (ctx: Context, { ms, failures, end }: UndoingInput) => {
      const scene = new Scene(ctx, ledger, marks)
      const step = (i: number) => {
        const name = `s${i}`
        return ctx.do(name, scene.fn(name, { ms: ms[i]!, value: i }, {}), {
          rollback: {
            run: (done, context) => scene.fn(`${name}#rollback`, { ms: ms[i]!, value: i, failures: failures[i]! }, { undoes: done.nonce })(context),
            retry,
          },
        })
      }
      for (let i = 0; i < ms.length - 2; i++) await step(i)
      // The last steps may still run when the workflow ends.
      const last = Promise.all([step(ms.length - 2), step(ms.length - 1)])
      if (end === "waits") await Promise.all([last, ctx.waitForEvent("never")])
      await ctx.do("broken", scene.fn("broken", { ms: ms[0]!, value: 0, failures: Infinity }, {}), { retry: { maxAttempts: 1 } })
      return last
    }),
  ]
}
