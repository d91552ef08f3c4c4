/** The events of one run. Each event is received once and handled once, first in first out for its type. */
export class EventAudit {
  readonly #buffered = new Map<string, BufferedEvent[]>()
  readonly #waits = new Map<string, string>()
  readonly #ids = new Set<string>()
  /** The events of the earlier runs that this run continues. */
  readonly #earlier = new Set<string>()

  continue(before: EventAudit): void {
    for (const id of [...before.#earlier, ...before.#ids]) this.#earlier.add(id)
  }

  isKnown(eventId: string | undefined): boolean {
    return eventId !== undefined && (this.#ids.has(eventId) || this.#earlier.has(eventId))
  }

  /** With `isKept` an earlier run received the event, and this run keeps it. */
  receive(type: string, payload: string, eventId: string | undefined, position: number, isKept: boolean): string | undefined {
    const isKnown = isKept ? eventId !== undefined && this.#ids.has(eventId) : this.isKnown(eventId)
    if (isKnown) return `event id ${eventId} is taken in twice`
    if (eventId !== undefined) this.#ids.add(eventId)
    this.#buffered.set(type, [...(this.#buffered.get(type) ?? []), { type, payload, eventId, position }])
    return undefined
  }

  wait(id: string, type: string): void {
    this.#waits.set(id, type)
  }

  giveUp(id: string): void {
    this.#waits.delete(id)
  }

  complete(id: string, from: number): string | undefined {
    const type = this.#waits.get(id)
    return type === undefined ? "nobody waits" : this.handle(type, from)
  }

  /** A wait or a handler gets the event at that position. */
  handle(type: string, from: number): string | undefined {
    const queue = this.#buffered.get(type) ?? []
    if (queue[0]?.position !== from) return `it takes the event at ${from}; the first of ${type} is at ${queue[0]?.position}`
    queue.shift()
    return undefined
  }

  /** The events that were not handled, in order. The next run gets them if this run continues as new. */
  get left(): readonly BufferedEvent[] {
    return [...this.#buffered.values()].flat().toSorted((a, b) => a.position - b.position)
  }
}

export interface BufferedEvent {
  readonly type: string
  readonly payload: string
  readonly eventId: string | undefined
  readonly position: number
}
