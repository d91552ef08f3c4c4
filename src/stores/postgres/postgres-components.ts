import type { Database } from "./connection/database.ts"
import type { Hints } from "./notifications/notifier.ts"
import { LoneCalls } from "./notifications/listen-connection-calls.ts"
import { PostgresFlow } from "./flow-control/flow-transactions.ts"
import type { StoreClock } from "./connection/server-clock.ts"
import { TurnCommitter } from "./turns/turn-committer.ts"

/** What the parts of one open store share. */
export interface PostgresTables {
  readonly database: Database
  readonly calls: LoneCalls
  readonly hints: Hints
  readonly clock: StoreClock
  readonly flow: PostgresFlow
  readonly committer: TurnCommitter
  /** It can be seen to that what was told of before it was on disk is there. */
  readonly maySendEarly: boolean
}

export function postgresTables(database: Database, hints: Hints, clock: StoreClock, maySendEarly: boolean): PostgresTables {
  const flow = new PostgresFlow(database, hints)
  const calls = new LoneCalls(database, () => hints.ear)
  return { database, calls, hints, clock, flow, maySendEarly, committer: new TurnCommitter(database, calls, flow, hints.heard) }
}
