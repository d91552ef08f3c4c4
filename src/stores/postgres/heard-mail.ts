import type { Message, NewMessage, Turn } from "../../ports/journal-store.ts"
import { toText } from "../odd-text.ts"
import { numberArray } from "./array-literal.ts"
import { integer } from "./columns.ts"
import type { Queries } from "./database.ts"

/** A notification is less than 8,000 bytes long. */
const bytesMax = 7_500
/** Who has not come for its message by then does not come because of it. */
const freshMs = 1_000
const heardMax = 1_000
const unsureMax = 10_000

/**
 * Messages that came with the notification of them: who runs the instance need not ask for its inbox. Each was the only one there when it was
 * written. Whether it still is, nobody knows; so a turn that takes it in is written only if it is (`confirmed`, and in `take_lone`).
 */
export class HeardMail {
  readonly #heard = new Map<string, { readonly message: Message; readonly at: number }>()
  /** Numbers of those that somebody has got from here, until a turn with them is written. */
  readonly #unsure = new Set<number>()

  /** Undefined: this one told of something else. */
  hear(payload: string): { readonly sender: string; readonly instance: string } | undefined {
    const told = parsed(payload)
    if (told === undefined) return undefined
    const { sender, message } = told
    const { instance } = message
    this.#heard.delete(instance)
    this.#heard.set(instance, { message, at: performance.now() })
    const oldest = this.#heard.keys().next()
    if (this.#heard.size > heardMax && !oldest.done) this.#heard.delete(oldest.value)
    return { sender, instance }
  }

  /** There is more for it, that did not come along. */
  forget(instance: string): void {
    this.#heard.delete(instance)
  }

  forgetAll(): void {
    this.#heard.clear()
  }

  /** Undefined: the inboxes have to be read. */
  take(instances: readonly string[]): readonly Message[] | undefined {
    const now = performance.now()
    const found = instances.flatMap((instance) => this.#heard.get(instance) ?? [])
    for (const instance of instances) this.#heard.delete(instance)
    const isAll = found.length === instances.length && found.every(({ at }) => now - at < freshMs)
    if (!isAll || this.#unsure.size + found.length > unsureMax) return undefined
    for (const { message } of found) this.#unsure.add(message.seq)
    return found.map(({ message }) => message)
  }

  isUnsure({ consumed }: Turn): boolean {
    return consumed?.some((seq) => this.#unsure.has(seq)) === true
  }

  /** These turns were written, or never will be. */
  settle(turns: readonly Turn[]): void {
    for (const { consumed } of turns) for (const seq of consumed ?? []) this.#unsure.delete(seq)
  }

  /**
   * Of these turns, those whose messages are still there, or that were written before. Nobody but a turn of the instance takes a message away, and
   * then ours comes too late; so what is there now need not be looked at again when the turn is written.
   */
  async confirmed(queries: Queries, schema: string, turns: readonly Turn[]): Promise<readonly Turn[]> {
    const rows = await queries.all(
      "confirm.inbox",
      `SELECT t.n FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[]) WITH ORDINALITY AS t (id, incarnation, position, turn, consumed, n)
      WHERE ${schema}.is_recorded(t.id, t.incarnation, t.position, t.turn) OR cardinality(t.consumed::bigint[]) = (
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
    return turns.filter((_, at) => places.has(at + 1))
  }
}

/** As it goes along with a notification: JSON to which `deliver_told` adds the number, and its end. Undefined: it is too long for that. */
export function mailOf(sender: string, { instance, kind, at, topic, payload, eventId }: NewMessage): string | undefined {
  // What is not there is left out.
  const json = JSON.stringify({ sender, instance, kind, at, topic, payload, eventId })
  return new TextEncoder().encode(json).length > bytesMax ? undefined : `${json.slice(0, -1)},"seq":`
}

function parsed(payload: string): { readonly sender: string; readonly message: Message } | undefined {
  try {
    const { sender, ...message } = JSON.parse(payload) as Message & { readonly sender: string }
    return typeof sender === "string" && typeof message.instance === "string" && typeof message.seq === "number" ? { sender, message } : undefined
  } catch {
    return undefined
  }
}
