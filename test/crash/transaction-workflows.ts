import { appendFileSync, existsSync } from "node:fs"
import { join } from "node:path"
import { type AnyWorkflow, type Context, type Sql, type TransactionContext, workflow } from "../../src/index.ts"

/** While the folder has no file of this name, some transactions kill their process between what they write and the commit. */
export const mercy = "mercy"

/** Each process that kills itself writes its id to this file, because the test cannot otherwise know whether it or the test was first. */
export const ownDeaths = "own-deaths"

/** The tables of the user: a row for each transaction, and a sum that must match the rows. */
export const effectTables = `
  CREATE TABLE effect (instance TEXT NOT NULL, step TEXT NOT NULL, key TEXT NOT NULL, nonce TEXT NOT NULL, amount INTEGER NOT NULL) STRICT;
  CREATE TABLE total (sum INTEGER NOT NULL) STRICT;
  INSERT INTO total VALUES (0);
`

const suicides = 0.02
const failures = 0.1

/** Workflows whose transactions write to tables of their own. */
export function transactionWorkflows(folder: string): readonly AnyWorkflow[] {
  return [
    workflow("ledgered", async (ctx: Context, input: { readonly rounds: number }) => {
      const act =
        (step: string, amount: number) =>
        (sql: Sql, { idempotencyKey }: TransactionContext) => {
          const nonce = `${process.pid}-${Math.random()}`
          sql.run("INSERT INTO effect VALUES (?, ?, ?, ?, ?)", ctx.instance.id, step, idempotencyKey, nonce, amount)
          sql.run("UPDATE total SET sum = sum + ?", amount)
          while (Math.random() < suicides && !existsSync(join(folder, mercy))) {
            appendFileSync(join(folder, ownDeaths), `${process.pid}\n`)
            process.kill(process.pid, "SIGKILL")
          }
          if (Math.random() < failures) throw new Error("not this time")
          return nonce
        }
      const options = { retry: { maxAttempts: 1_000, initialInterval: 1, backoff: "fixed" } } as const
      for (let round = 0; round < input.rounds; round++) {
        await Promise.all([
          ctx.transaction(`left-${round}`, act(`left-${round}`, 1), options),
          ctx.transaction(`right-${round}`, act(`right-${round}`, 10), options),
          ctx.do(`beside-${round}`, () => round),
        ])
        await ctx.do(`outer-${round}`, ({ step }) => step.transaction("inner", act(`outer-${round}/inner`, 100), options))
      }
      return input.rounds
    }),
  ]
}
