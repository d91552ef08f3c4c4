import type { EntryOf, Recorded } from "./journal.ts"
import { SmallQueue } from "../collections/small-queue.ts"

/** Of runs before the last one as many ids are remembered as make up this number with those of the last. */
const idsRememberedMin = 256

/** An event as the journal has it. */
export type ReceivedEntry = Recorded<EntryOf<"event.received">>

/** The events of one run: which are buffered, what they brought while somebody may ask for it, and which ids are not to come again. */
export class EventBuffer {
  #received: Map<number, ReceivedEntry> | undefined = undefined
  /** Those that nobody has taken, by their type; types of which none is left are not there. */
  #buffered: Map<string, SmallQueue<ReceivedEntry>> | undefined = undefined
  #ids: Set<string> | undefined = undefined
  /** Ids of earlier runs. */
  #inherited: readonly string[] = []

  /** Ids of events that runs before this one received: it goes on as one of them left off. */
  inherit(eventIds: readonly string[]): void {
    this.#inherited = eventIds
    this.#ids = new Set([...eventIds, ...(this.#ids ?? [])])
  }

  receive(recorded: ReceivedEntry): void {
    const { entry, position } = recorded
    if (entry.eventId !== undefined) (this.#ids ??= new Set()).add(entry.eventId)
    ;(this.#received ??= new Map()).set(position, recorded)
    this.#buffered ??= new Map()
    let queue = this.#buffered.get(entry.event)
    if (queue === undefined) this.#buffered.set(entry.event, (queue = new SmallQueue()))
    queue.push(recorded)
  }

  /** Somebody has taken the event at that position. */
  consume(position: number): void {
    const taken = this.#received?.get(position)
    const queue = taken && this.#buffered?.get(taken.entry.event)
    if (taken === undefined || queue === undefined) return
    // Mostly it is the oldest of its type.
    if (queue.peek() === taken) queue.shift()
    else queue.remove(taken)
    if (queue.size === 0) this.#buffered?.delete(taken.entry.event)
  }

  /** The oldest buffered event of that type. */
  first(event: string): number | undefined {
    return this.#buffered?.get(event)?.peek()?.position
  }

  /** Events that nobody has taken, in order. */
  get buffered(): readonly ReceivedEntry[] {
    const buffered = [...(this.#buffered?.values() ?? [])].flatMap((queue) => queue.items())
    return buffered.toSorted((a, b) => a.position - b.position)
  }

  has(eventId: string): boolean {
    return this.#ids?.has(eventId) ?? false
  }

  /** Ids that the next run is to know: all of this one's, and the newest of those before. */
  get remembered(): readonly string[] {
    if (this.#ids === undefined) return []
    const own = this.#ids.size - this.#inherited.length
    return [...this.#ids].slice(-Math.max(own, idsRememberedMin))
  }

  /** The event at that position, while code may ask for it. */
  received(position: number): ReceivedEntry | undefined {
    return this.#received?.get(position)
  }

  /** Nobody will ask for it again. */
  forget(position: number): void {
    this.#received?.delete(position)
  }
}
