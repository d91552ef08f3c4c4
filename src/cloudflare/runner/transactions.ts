import { ownTransactions } from "../../engine/all-features.ts"
import { SqliteTransactions } from "../../stores/sqlite/sqlite-transactions.ts"
import { checkObjectStatement } from "../../stores/sqlite/driver/statement-rules.ts"
import type { RunnerPart } from "./runner-feature.ts"

/** For `ctx.transaction`, in the database of the instance's object. */
export const transactions: RunnerPart = {
  features: { transactions: ownTransactions },
  transactions: (tables) => new SqliteTransactions(tables, checkObjectStatement),
}
