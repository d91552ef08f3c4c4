import type { Recorded } from "./journal.ts"

/** The buffered events of one type: the instance has received them, and its code has not taken them. */
export interface BufferedEvents {
  /** The type of the events. */
  readonly type: string
  /** How many there are. */
  readonly count: number
}

/** The buffered events of a run by type. Types are in the order of their first event. */
export function bufferedEvents(run: readonly Recorded[]): readonly BufferedEvents[] {
  const untaken = new Map<number, string>()
  for (const { entry, position } of run) {
    if (entry.type === "event.received") untaken.set(position, entry.event)
    else if ((entry.type === "wait.completed" || entry.type === "event.handled") && entry.from !== undefined) untaken.delete(entry.from)
  }
  const counts = new Map<string, number>()
  for (const type of untaken.values()) counts.set(type, (counts.get(type) ?? 0) + 1)
  return [...counts].map(([type, count]) => ({ type, count }))
}

/** A sentence for people about buffered events. `isOver`: the instance has ended. */
export function bufferedSentence({ type, count }: BufferedEvents, isOver = false): string {
  const events = `${count} ${count === 1 ? "event" : "events"} ${JSON.stringify(type)}`
  if (isOver) return `${events} came, and nothing took ${count === 1 ? "it" : "them"}`
  return `${events} ${count === 1 ? "is" : "are"} buffered, and nothing waits for ${count === 1 ? "it" : "them"}`
}
