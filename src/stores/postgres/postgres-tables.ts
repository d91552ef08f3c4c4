import type { Database } from "./database.ts"
import type { Hints } from "./hints.ts"
import { LoneCalls } from "./lone-calls.ts"
import { PostgresFlow } from "./postgres-flow.ts"
import type { StoreClock } from "./store-clock.ts"
import { TurnCommitter } from "./turn-committer.ts"

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
