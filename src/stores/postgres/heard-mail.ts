import type { Message, NewMessage, Turn } from "../../ports/journal-store.ts"
import { toText } from "../odd-text.ts"
import { numberArray } from "./array-literal.ts"
import { integer } from "./columns.ts"
import type { Queries } from "./database.ts"

/** A notification is less than 8,000 bytes long. */
const bytesMax = 7_500
const unsureMax = 10_000

/**
 * Messages that came with the notification of them: who runs the instance need not ask for its inbox. Each was the only one there when it was
 * written. Whether it still is, nobody knows; so a turn that takes it in is written only if it is (`confirmed`, and in `take_lone`).
 */
export class HeardMail {
  /** Numbers of those that somebody takes in, until a turn with them is written. */
  readonly #unsure = new Set<number>()
  /** Of these, those that were heard before a connection broke. */
  readonly #doubtful = new Set<number>()

  /** Offers a message. True: it is taken in. */
  offer(message: Message, takers: Iterable<(message: Message) => boolean>): boolean {
    if (this.#unsure.size >= unsureMax) return false
    // Before: whoever takes it may be quick.
    this.#unsure.add(message.seq)
    for (const take of takers) if (take(message)) return true
    this.#unsure.delete(message.seq)
    return false
  }

  isUnsure({ consumed }: Turn): boolean {
    return consumed?.some((seq) => this.#unsure.has(seq)) === true
  }

  /**
   * The server may have died before what we heard was on disk. Then these messages never were, and others may get their numbers: who has taken one in is
   * to read what is there.
   */
  doubt(): void {
    for (const seq of this.#unsure) this.#doubtful.add(seq)
  }

  isDoubtful({ consumed }: Turn): boolean {
    return this.#doubtful.size > 0 && consumed?.some((seq) => this.#doubtful.has(seq)) === true
  }

  /** It is known what became of these turns. */
  settle(turns: readonly Turn[]): void {
    for (const { consumed } of turns)
      for (const seq of consumed ?? []) {
        this.#unsure.delete(seq)
        this.#doubtful.delete(seq)
      }
  }

  /**
   * Of these turns, those whose messages are still there, or that were written before. Nobody but a turn of the instance takes a message away, and
   * then ours comes too late; so what is there now need not be looked at again when the turn is written.
   */
  async confirmed(queries: Queries, schema: string, turns: readonly Turn[]): Promise<readonly Turn[]> {
    const rows = await queries.all(
      "confirm.inbox",
      `SELECT t.n, w.is_recorded FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[]) WITH ORDINALITY AS t (id, incarnation, position, turn, consumed, n)
      CROSS JOIN LATERAL (SELECT ${schema}.is_recorded(t.id, t.incarnation, t.position, t.turn) AS is_recorded) w
      WHERE w.is_recorded OR cardinality(t.consumed::bigint[]) = (
        SELECT count(*) FROM ${schema}.instance i JOIN ${schema}.inbox m ON m.instance = i.key
        WHERE i.id = t.id AND i.incarnation = t.incarnation AND m.seq = ANY (t.consumed::bigint[])
      )`,
      turns.map(({ instance }) => toText(instance)),
      turns.map(({ incarnation }) => toText(incarnation)),
      turns.map(({ position }) => position),
      turns.map(({ turn }) => toText(turn)),
      turns.map(({ consumed = [] }) => numberArray(consumed)),
    )
    const places = new Set(rows.map((row) => integer(row, "n")))
    const recorded = new Set(rows.filter((row) => row["is_recorded"] === true).map((row) => integer(row, "n")))
    // Their messages were there, whatever broke since.
    this.settle(turns.filter((_, at) => recorded.has(at + 1)))
    return turns.filter((turn, at) => places.has(at + 1) && !this.isDoubtful(turn))
  }
}

/** As it goes along with a notification: JSON to which `deliver_told` adds the number, and its end. Undefined: it is too long for that. */
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
