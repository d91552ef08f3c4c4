import type { Message, NewMessage, Turn } from "../../../ports/journal-store.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { numberArray } from "../turns/array-literal.ts"
import { integer } from "../reads/columns.ts"
import type { DatabaseNames, Queries } from "../connection/database.ts"

/** PostgreSQL refuses a payload of 8,000 bytes. */
export const bytesMax = 7_500
const unconfirmedMax = 10_000

/**
 * Messages that a notification carried: a worker that runs the instance need not read its inbox. Each message was alone in its inbox when it was written, but a
 * notification may be old. So a turn that consumes such a message is written only if the message is still in the inbox: `confirmed` checks that, and so does
 * `consume_single_turn`.
 */
export class PushedMessages {
  /** Numbers of messages that a listener has accepted, until the outcome of a turn that consumes them is known. */
  readonly #unconfirmed = new Set<number>()

  /** Offers a message to the listeners. True: one of them has accepted it. */
  offer(message: Message, listeners: Iterable<(message: Message) => boolean>): boolean {
    if (this.#unconfirmed.size >= unconfirmedMax) return false
    // Added before the calls, because a listener may write a turn at once.
    this.#unconfirmed.add(message.seq)
    for (const accepts of listeners) if (accepts(message)) return true
    this.#unconfirmed.delete(message.seq)
    return false
  }

  /** Whether the turn consumes messages that may not be in the inbox. */
  hasUnconfirmed({ consumed }: Turn): boolean {
    return this.#unconfirmed.size > 0 && consumed?.some((seq) => this.#unconfirmed.has(seq)) === true
  }

  /** The outcome of these turns is known. */
  settle(turns: readonly Turn[]): void {
    for (const { consumed } of turns) for (const seq of consumed ?? []) this.#unconfirmed.delete(seq)
  }

  /**
   * Returns the turns whose messages are in the inbox, and the turns that were written before. Only a turn of the instance removes a message. If such a turn comes
   * first, our turn is lost anyway; so messages that are there now need no second check when the turn is written.
   */
  async confirmed(queries: Queries, database: DatabaseNames, turns: readonly Turn[]): Promise<readonly Turn[]> {
    const rows = await queries.all(
      "confirm.inbox",
      `SELECT t.n FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[]) WITH ORDINALITY AS t (id, incarnation, position, turn, consumed, n)
      WHERE ${database.functions.isTurnRecorded}(t.id, t.incarnation, t.position, t.turn) OR cardinality(t.consumed::bigint[]) = (
        SELECT count(*) FROM ${database.schema}.instance i JOIN ${database.schema}.inbox m ON m.instance = i.key
        WHERE i.id = t.id AND i.incarnation = t.incarnation AND m.seq = ANY (t.consumed::bigint[])
      )`,
      turns.map(({ instance }) => toText(instance)),
      turns.map(({ incarnation }) => toText(incarnation)),
      turns.map(({ position }) => position),
      turns.map(({ turn }) => toText(turn)),
      turns.map(({ consumed = [] }) => numberArray(consumed)),
    )
    const places = new Set(rows.map((row) => integer(row, "n")))
    return turns.filter((_, at) => places.has(at + 1))
  }
}

/** The beginning of a payload that carries the message: `deliver_and_notify` adds the message's number and the end of the JSON. Undefined: it is too long. */
export function toPushedPayload(sender: string, { instance, kind, at, topic, payload, eventId }: NewMessage): string | undefined {
  // JSON omits properties that are undefined.
  const json = JSON.stringify({ sender, instance, kind, at, topic, payload, eventId })
  const isTooLong = json.length * 3 > bytesMax && new TextEncoder().encode(json).length > bytesMax
  return isTooLong ? undefined : `${json.slice(0, -1)},"seq":`
}

/** Undefined: the payload does not carry a message. */
export function fromPushedPayload(payload: string): { readonly sender: string; readonly message: Message } | undefined {
  try {
    const { sender, ...message } = JSON.parse(payload) as Message & { readonly sender: string }
    return typeof sender === "string" && typeof message.instance === "string" && typeof message.seq === "number" ? { sender, message } : undefined
  } catch {
    return undefined
  }
}
