import { PerdureError } from "../../core/errors.ts"
import type { StoreWithin } from "../../ports/caller-transactions.ts"
import type { InstanceRow, NewMessage, Turn } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import type { CommitResult } from "../worker/group-committer.ts"
import { unknownEvent } from "../../core/workflow/declared-events.ts"
import { existingRow } from "./instance-lookup.ts"
import { instanceEnded, notFound } from "./instance-errors.ts"
import type { WriteScope } from "./write-scope.ts"
import type { StartRequest } from "./instance-starter.ts"

/** Starts instances in a transaction of the caller. The database notifies the workers when the caller commits. */
export function startWithin<T>(
  store: Store,
  client: unknown,
  turnOf: (startRequest: StartRequest) => Turn,
  work: (writeScope: WriteScope) => Promise<T>,
): Promise<T> {
  return within(store, client, (inside) => work(callerWriteScope(inside, turnOf)))
}

/** Sends an event in a transaction of the caller. */
export function sendWithin(store: Store, client: unknown, id: string, messageOf: (row: InstanceRow) => Promise<NewMessage>): Promise<void> {
  return within(store, client, async ({ directory }) => {
    const row = await existingRow({ directory }, id)
    const message = await messageOf(row)
    const [delivery] = await directory.deliver([message])
    if (delivery === "absent") throw notFound(id)
    if (delivery === "ended") throw instanceEnded(row)
    if (delivery === "unknown-event") throw unknownEvent(row, message.topic ?? "")
  })
}

function callerWriteScope(store: StoreWithin, turnOf: (startRequest: StartRequest) => Turn): WriteScope {
  const write = async (turn: Turn): Promise<CommitResult> => (await store.journal.commit([turn]))[0] ?? "lost"
  return { store, create: (startRequest) => write(turnOf(startRequest)), write, announce: () => undefined }
}

function within<T>({ callerTransactions }: Store, client: unknown, work: (store: StoreWithin) => Promise<T>): Promise<T> {
  if (callerTransactions) return callerTransactions.within(client, work)
  throw new PerdureError("NO_TRANSACTIONS", "this store cannot write in your transaction; use postgres(…), and pass a client of pg with an open transaction")
}
