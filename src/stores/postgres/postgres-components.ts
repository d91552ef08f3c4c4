import type { Database } from "./connection/database.ts"
import type { Notifier } from "./notifications/notifier.ts"
import { ListenConnectionCalls } from "./notifications/listen-connection-calls.ts"
import { FlowTransactions } from "./flow-control/flow-transactions.ts"
import type { ServerClock } from "./connection/server-clock.ts"
import type { FunctionUse } from "./schema/function-use.ts"
import { TurnCommitter } from "./turns/turn-committer.ts"

/** What the parts of one open store share. */
export interface PostgresTables {
  readonly database: Database
  readonly calls: ListenConnectionCalls
  readonly hints: Notifier
  readonly clock: ServerClock
  readonly functionUse: FunctionUse
  readonly flow: FlowTransactions
  readonly committer: TurnCommitter
}

export function postgresTables(database: Database, hints: Notifier, clock: ServerClock, functionUse: FunctionUse): PostgresTables {
  const flow = new FlowTransactions(database, hints)
  const calls = new ListenConnectionCalls(database, () => hints.ear)
  return { database, calls, hints, clock, functionUse, flow, committer: new TurnCommitter(database, calls, flow, hints.heard) }
}
