import type { Database } from "./connection/database.ts"
import type { Notifier } from "./notifications/notifier.ts"
import { ListenConnectionCalls } from "./notifications/listen-connection-calls.ts"
import { FlowTransactions } from "./flow-control/flow-transactions.ts"
import type { ServerClock } from "./connection/server-clock.ts"
import type { FunctionUse } from "./schema/function-use.ts"
import { TurnCommitter } from "./turns/turn-committer.ts"

/** The objects that the parts of one open store share. */
export interface PostgresComponents {
  readonly database: Database
  readonly calls: ListenConnectionCalls
  readonly notifier: Notifier
  readonly clock: ServerClock
  readonly functionUse: FunctionUse
  readonly flow: FlowTransactions
  readonly committer: TurnCommitter
}

export function createPostgresComponents(database: Database, notifier: Notifier, clock: ServerClock, functionUse: FunctionUse): PostgresComponents {
  const flow = new FlowTransactions(database, notifier)
  const calls = new ListenConnectionCalls(database, () => notifier.listenConnection)
  return { database, calls, notifier, clock, functionUse, flow, committer: new TurnCommitter(database, calls, flow, notifier.pushedMessages) }
}
