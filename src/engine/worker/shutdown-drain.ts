import type { ClaimingWorker } from "./claiming-worker.ts"

/** How often the drain checks whether attempts are over: no event reports that. */
const checkMs = 5

/**
 * Lets the attempts of a worker that closes finish, for at most `drainMs`. The turns and messages that they and current starts cause are written.
 * An attempt that still waits for a step slot does not count, because no more attempts begin.
 */
export async function drain(worker: ClaimingWorker): Promise<void> {
  const { host, timers, settings, residents, stepSlots, macrotaskQueue, committer, messages } = worker
  let isLate = false
  const late = new Promise<void>((resolve) =>
    timers.after(settings.drainMs, () => {
      isLate = true
      resolve()
    }),
  )
  const whenQuieter = async () => {
    await committer.whenIdle()
    await messages.whenIdle()
    if (residents.attempts > 0) await new Promise<void>((resolve) => timers.after(checkMs, resolve))
    else await new Promise<void>((resolve) => host.quiesce(resolve))
  }
  const isOver = () => isLate || (residents.attempts === (stepSlots?.waiting ?? 0) && macrotaskQueue.idle && committer.idle && messages.idle)
  while (!isOver()) await Promise.race([late, whenQuieter()])
}

/** Resolves when the store has written the last turns, or after `drainMs` if the store does not answer. */
export async function whenTurnsWritten({ timers, settings, committer }: ClaimingWorker): Promise<void> {
  if (committer.idle) return
  const late = new Promise<void>((resolve) => timers.after(settings.drainMs, resolve))
  await Promise.race([late, committer.whenIdle()])
}
