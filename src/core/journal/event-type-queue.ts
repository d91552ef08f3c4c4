import type { Recorded } from "./journal.ts"

/** Events of one type that an instance has received, and that its code has not taken. */
export interface BufferedEvents {
  /** The type of the events. */
  readonly type: string
  /** How many there are. */
  readonly count: number
}

/** Of a run, in the order in which the first of each type came. */
export function bufferedEvents(run: readonly Recorded[]): readonly BufferedEvents[] {
  const left = new Map<number, string>()
  for (const { entry, position } of run) {
    if (entry.type === "event.received") left.set(position, entry.event)
    else if ((entry.type === "wait.completed" || entry.type === "event.handled") && entry.from !== undefined) left.delete(entry.from)
  }
  const counts = new Map<string, number>()
  for (const type of left.values()) counts.set(type, (counts.get(type) ?? 0) + 1)
  return [...counts].map(([type, count]) => ({ type, count }))
}

/** `isOver`: the instance takes nothing any more. */
export function bufferedSentence({ type, count }: BufferedEvents, isOver = false): string {
  const events = `${count} ${count === 1 ? "event" : "events"} ${JSON.stringify(type)}`
  if (isOver) return `${events} came, and nothing took ${count === 1 ? "it" : "them"}`
  return `${events} ${count === 1 ? "is" : "are"} buffered, and nothing waits for ${count === 1 ? "it" : "them"}`
}
