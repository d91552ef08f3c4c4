import type { Delivery } from "../../../ports/directory.ts"
import type { UniqueUse } from "../../../ports/flow-control.ts"
import type { InstanceRow, JournalRow, NewMessage, Turn } from "../../../ports/journal-store.ts"
import { refusedOr, takesFirst } from "../../shared/first-event.ts"
import { textOrNull, toText } from "../../shared/unsafe-text.ts"
import { integer, list, text } from "../reads/columns.ts"
import type { DatabaseNames, Queries } from "../connection/database.ts"
import { instanceColumns, toInstanceRow } from "../reads/instance-row.ts"
import { journalColumns, toJournalRow } from "../reads/journal-row.ts"
import type { ListenConnectionCalls } from "../notifications/listen-connection-calls.ts"
import { messageJson, writeTurns } from "./turn-batch-writer.ts"

// Reads of one instance and messages to it, also in a transaction of a caller.

export async function readInstance(queries: Queries, database: DatabaseNames, id: string): Promise<InstanceRow | undefined> {
  const row = await queries.get("get", `SELECT ${instanceColumns} FROM ${database.schema}.instance i WHERE i.id = $1`, toText(id))
  return row === undefined ? undefined : toInstanceRow(row)
}

export async function readJournal(queries: Queries, { functions }: DatabaseNames, id: string, from: number): Promise<readonly JournalRow[]> {
  const rows = await queries.all("journal", `SELECT ${journalColumns} FROM ${functions.readJournal}($1, $2) j`, toText(id), from)
  const [first] = rows
  const journal = rows.map(toJournalRow)
  return first !== undefined && integer(first, "position") + integer(first, "count") - 1 < from ? journal.slice(1) : journal
}

export async function uniqueHolder(queries: Queries, database: DatabaseNames, { kind, key }: UniqueUse): Promise<string | undefined> {
  const row = await queries.get(
    "unique-holder",
    `SELECT i.id FROM ${database.schema}.unique_key u JOIN ${database.schema}.instance i ON i.key = u.instance WHERE u.kind = $1 AND u.key = $2`,
    kind,
    toText(key),
  )
  return row === undefined ? undefined : text(row, "id")
}

/** `notification`: is sent with the commit. */
export async function deliver(
  queries: Queries,
  { functions }: DatabaseNames,
  messages: readonly NewMessage[],
  notification?: Notification,
): Promise<readonly Delivery[]> {
  const json = JSON.stringify(messages.map(messageJson))
  const deliveries = `${functions.deliverMessages}($1::jsonb) AS deliveries`
  const row =
    notification === undefined
      ? await queries.get("deliver", `SELECT ${deliveries}`, json)
      : await queries.get("notify.deliver", `SELECT ${deliveries}, pg_notify($2, $3)`, json, notification.channel, notification.payload)
  return list<Delivery>(row, "deliveries")
}

export interface Notification {
  readonly channel: string
  readonly payload: string
}

/** Delivers one message, and pushes it to the listeners with the commit if it is alone in the inbox (`deliver_and_notify`). */
export async function deliverWithPush(calls: ListenConnectionCalls, message: NewMessage, notification: PushNotification): Promise<Delivery> {
  const { instance, incarnation, kind, at, topic, eventId, payload } = message
  const { channel, pushChannel, payloadIfPushed, pushPayload } = notification
  const of = [toText(instance), textOrNull(incarnation), kind, at, textOrNull(topic), textOrNull(eventId), textOrNull(payload), message.isChecked === true]
  const values = [...of, channel, notification.payload, pushChannel, payloadIfPushed, pushPayload]
  return (await calls.call("push.deliver", "deliverAndNotify", values)) as Delivery
}

export interface PushNotification extends Notification {
  readonly pushChannel: string
  readonly payloadIfPushed: string
  readonly pushPayload: string
}

/** Delivers the message, or creates the instance with the message. The caller has a transaction. */
export async function deliverOrCreate(queries: Queries, database: DatabaseNames, message: NewMessage, create: Turn): Promise<Delivery | "created"> {
  if (!takesFirst(create, message)) {
    const [delivery = "absent"] = await deliver(queries, database, [message])
    return refusedOr(delivery)
  }
  const [written] = await writeTurns(queries, database, [create], "plain")
  // The turn was sent again after an unknown outcome. The message was delivered together with the creation.
  if (written === "recorded") return "created"
  const [delivered = "absent"] = await deliver(queries, database, [message])
  return written === "written" ? "created" : delivered
}
