import type { EntryOf, Recorded } from "./journal.ts"
import { SmallQueue } from "../collections/small-queue.ts"

/** The next run remembers at least this many event ids, if there are so many: all of this run, and the newest of earlier runs. */
const idsRememberedMin = 256

/** The journal entry of a received event. */
export type ReceivedEntry = Recorded<EntryOf<"event.received">>

/** The events of one run: which of them are buffered, their entries as long as they are needed, and the event ids that must not be received again. */
export class EventBuffer {
  #received: Map<number, ReceivedEntry> | undefined = undefined
  /** The events that the code has not taken, by type. The map has no empty queues. */
  #buffered: Map<string, SmallQueue<ReceivedEntry>> | undefined = undefined
  #ids: Set<string> | undefined = undefined
  /** Event ids of earlier runs. */
  #inherited: readonly string[] = []

  /** Adds the ids of events that earlier runs have received, in a run that continues as new. */
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

  /** The event at this position was taken by a wait or a handler. */
  consume(position: number): void {
    const taken = this.#received?.get(position)
    const queue = taken && this.#buffered?.get(taken.entry.event)
    if (taken === undefined || queue === undefined) return
    // In most cases it is the oldest event of its type.
    if (queue.peek() === taken) queue.shift()
    else queue.remove(taken)
    if (queue.size === 0) this.#buffered?.delete(taken.entry.event)
  }

  /** The position of the oldest buffered event of this type. */
  first(event: string): number | undefined {
    return this.#buffered?.get(event)?.peek()?.position
  }

  /** The buffered events, in order. */
  get buffered(): readonly ReceivedEntry[] {
    const buffered = [...(this.#buffered?.values() ?? [])].flatMap((queue) => queue.items())
    return buffered.toSorted((a, b) => a.position - b.position)
  }

  has(eventId: string): boolean {
    return this.#ids?.has(eventId) ?? false
  }

  /** The event ids that the next run inherits: all of this run, and the newest of earlier runs. */
  get remembered(): readonly string[] {
    if (this.#ids === undefined) return []
    const own = this.#ids.size - this.#inherited.length
    return [...this.#ids].slice(-Math.max(own, idsRememberedMin))
  }

  /** The event at that position, while code may ask for it. */
  received(position: number): ReceivedEntry | undefined {
    return this.#received?.get(position)
  }

  /** Drops the entry of the event at this position. */
  forget(position: number): void {
    this.#received?.delete(position)
  }
}
