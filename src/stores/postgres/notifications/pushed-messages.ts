import type { Message, NewMessage, Turn } from "../../../ports/journal-store.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { numberArray } from "../turns/array-literal.ts"
import { integer } from "../reads/columns.ts"
import type { DatabaseNames, Queries } from "../connection/database.ts"

/** A notification is less than 8,000 bytes long. */
const bytesMax = 7_500
const unsureMax = 10_000

/**
 * Messages that came with the notification of them: who runs the instance need not ask for its inbox. Each was the only one there when it was
 * written. Whether it still is, nobody knows; so a turn that takes it in is written only if it is (`confirmed`, and in `consume_single_turn`).
 */
export class PushedMessages {
  /** Numbers of those that somebody has heard and takes in, until it is known what became of a turn with them. */
  readonly #unsure = new Set<number>()

  /** Offers a message. True: it is taken in. */
  offer(message: Message, takers: Iterable<(message: Message) => boolean>): boolean {
    if (this.#unsure.size >= unsureMax) return false
    // Before: whoever takes it may be quick.
    this.#unsure.add(message.seq)
    for (const take of takers) if (take(message)) return true
    this.#unsure.delete(message.seq)
    return false
  }

  /** Whether its messages are there has to be looked at. */
  isUnsure({ consumed }: Turn): boolean {
    return this.#unsure.size > 0 && consumed?.some((seq) => this.#unsure.has(seq)) === true
  }

  /** It is known what became of these turns. */
  settle(turns: readonly Turn[]): void {
    for (const { consumed } of turns) for (const seq of consumed ?? []) this.#unsure.delete(seq)
  }

  /**
   * Of these turns, those whose messages are still there, or that were written before. Nobody but a turn of the instance takes a message away, and
   * then ours comes too late; so what is there now need not be looked at again when the turn is written.
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

/** As it goes along with a notification: JSON to which `deliver_and_notify` adds the number, and its end. Undefined: it is too long for that. */
export function mailOf(sender: string, { instance, kind, at, topic, payload, eventId }: NewMessage): string | undefined {
  // What is not there is left out.
  const json = JSON.stringify({ sender, instance, kind, at, topic, payload, eventId })
  const isTooLong = json.length * 3 > bytesMax && new TextEncoder().encode(json).length > bytesMax
  return isTooLong ? undefined : `${json.slice(0, -1)},"seq":`
}

/** Undefined: this one told of something else. */
export function mailFrom(payload: string): { readonly sender: string; readonly message: Message } | undefined {
  try {
    const { sender, ...message } = JSON.parse(payload) as Message & { readonly sender: string }
    return typeof sender === "string" && typeof message.instance === "string" && typeof message.seq === "number" ? { sender, message } : undefined
  } catch {
    return undefined
  }
}
