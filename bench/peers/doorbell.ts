// How a workflow tells the workload, in the same process, that its code has come to its wait. Not durable, and so the same for every
// engine. An engine that runs the code again from the top rings again: only the first time counts.

const rung = new Map<number, number>()
const waiting = new Map<number, () => void>()

/** Called by workflows right before they wait or sleep. */
export function ring(number: number): void {
  if (rung.has(number)) return
  rung.set(number, Date.now())
  waiting.get(number)?.()
}

/** When the workflow of this number came to its wait, as soon as it has. */
export async function rungAt(number: number): Promise<number> {
  if (!rung.has(number)) await new Promise<void>((resolve) => waiting.set(number, resolve))
  waiting.delete(number)
  return rung.get(number) ?? Number.NaN
}
