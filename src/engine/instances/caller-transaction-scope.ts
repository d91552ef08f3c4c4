import type { StoreWithin } from "../../ports/caller-transactions.ts"
import type { InstanceRow, NewMessage, Turn } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import type { CommitResult } from "../worker/group-committer.ts"
import { ended, refusedEvent } from "./instance-controls.ts"
import { existingRow } from "./existing-row.ts"
import { notFound } from "./ending-lookup.ts"
import { noTransactions, type WriteScope } from "./write-scope.ts"
import type { StartRequest } from "./instance-starter.ts"

/** What is started and sent in transactions of the caller's: whoever is written to is told by the database, when the caller commits. */
export interface CallerSupport {
  startWithin<T>(store: Store, client: unknown, turnOf: (startRequest: StartRequest) => Turn, work: (writeScope: WriteScope) => Promise<T>): Promise<T>
  sendWithin(store: Store, client: unknown, id: string, messageOf: (row: InstanceRow) => Promise<NewMessage>): Promise<void>
}

export const callerSupport: CallerSupport = {
  startWithin: (store, client, turnOf, work) => within(store, client, (inside) => work(callerWriteScope(inside, turnOf))),
  sendWithin: (store, client, id, messageOf) =>
    within(store, client, async ({ directory }) => {
      const row = await existingRow({ directory }, id)
      const message = await messageOf(row)
      const [delivery] = await directory.deliver([message])
      if (delivery === "absent") throw notFound(id)
      if (delivery === "ended") throw ended(row)
      if (delivery === "unknown-event") throw refusedEvent(row, message.topic ?? "")
    }),
}

function callerWriteScope(store: StoreWithin, turnOf: (startRequest: StartRequest) => Turn): WriteScope {
  const write = async (turn: Turn): Promise<CommitResult> => (await store.journal.commit([turn]))[0] ?? "lost"
  return { store, create: (startRequest) => write(turnOf(startRequest)), write, announce: () => undefined }
}

function within<T>({ callerTransactions }: Store, client: unknown, work: (store: StoreWithin) => Promise<T>): Promise<T> {
  if (callerTransactions) return callerTransactions.within(client, work)
  throw noTransactions()
}
