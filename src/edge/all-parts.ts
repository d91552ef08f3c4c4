import { changes } from "./changes.ts"
import { codecs } from "./codecs.ts"
import { flowControl } from "./flow-control.ts"
import { queries } from "./queries.ts"
import type { RunnerPart } from "./runner-part.ts"
import { schedules } from "./schedules.ts"
import { transactions } from "./transactions.ts"
import { why } from "./why.ts"

/** Everything that a runner can do, for a Worker whose size is of no concern. */
export const allParts: readonly RunnerPart[] = [changes, codecs, flowControl, queries, schedules, transactions, why]
