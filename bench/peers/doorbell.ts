// A workflow tells the workload in the same process that its code has reached its wait. The signal is not durable, so it costs the same for every
// engine. An engine that runs the code again from the top rings again: only the first time counts.

const rung = new Map<number, number>()
const waiting = new Map<number, () => void>()

/** Called by workflows right before they wait or sleep. */
export function ring(number: number): void {
  if (rung.has(number)) return
  rung.set(number, Date.now())
  waiting.get(number)?.()
}

/** Resolves when the workflow with this number reaches its wait, to the time of that moment. */
export async function rungAt(number: number): Promise<number> {
  if (!rung.has(number)) await new Promise<void>((resolve) => waiting.set(number, resolve))
  waiting.delete(number)
  return rung.get(number) ?? Number.NaN
}
