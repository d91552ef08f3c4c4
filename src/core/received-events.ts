import type { Payload } from "./codec.ts"
import type { EntryOf, Recorded } from "./journal.ts"

/** Of runs before the last one as many ids are remembered as make up this number with those of the last. */
const idsRememberedMin = 256

/** The events of one run: which are buffered, what they brought while somebody may ask for it, and which ids are not to come again. */
export class ReceivedEvents {
  #received: Map<number, Recorded<EntryOf<"event.received">>> | undefined = undefined
  #buffered: Map<string, number[]> | undefined = undefined
  #ids: Set<string> | undefined = undefined
  /** Ids of earlier runs. */
  #inherited: readonly string[] = []

  /** Ids of events that runs before this one received: it goes on as one of them left off. */
  inherit(eventIds: readonly string[]): void {
    this.#inherited = eventIds
    this.#ids = new Set([...eventIds, ...(this.#ids ?? [])])
  }

  receive(recorded: Recorded<EntryOf<"event.received">>): void {
    const { entry, position } = recorded
    if (entry.eventId !== undefined) (this.#ids ??= new Set()).add(entry.eventId)
    ;(this.#received ??= new Map()).set(position, recorded)
    const queue = this.#buffered?.get(entry.event)
    if (queue) queue.push(position)
    else (this.#buffered ??= new Map()).set(entry.event, [position])
  }

  /** Somebody has taken the event at that position. */
  consume(position: number): void {
    for (const queue of this.#buffered?.values() ?? []) {
      const index = queue.indexOf(position)
      if (index >= 0) return void queue.splice(index, 1)
    }
  }

  /** The oldest buffered event of that type. */
  first(event: string): number | undefined {
    return this.#buffered?.get(event)?.[0]
  }

  /** Events that nobody has taken, in order. */
  get buffered(): readonly Recorded<EntryOf<"event.received">>[] {
    const positions = new Set([...(this.#buffered ?? [])].flatMap(([, queue]) => queue))
    return [...(this.#received?.values() ?? [])].filter(({ position }) => positions.has(position))
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

  /** What the event at that position brought. */
  payload(position: number): Payload | undefined {
    return this.#received?.get(position)?.entry.value
  }

  /** Nobody will ask for it again. */
  forget(position: number): void {
    this.#received?.delete(position)
  }
}
