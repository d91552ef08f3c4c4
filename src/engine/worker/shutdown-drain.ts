import type { ClaimingWorker } from "./claiming-worker.ts"

/** How often to look whether attempts are over: nobody tells. */
const checkMs = 5

/** Attempts of a worker that closes may finish, and what they and the starts under way lead to is written; but not for ever. */
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

/** What was handed to the store when the last attempt was over is written, unless the store does not answer. */
export async function whenTurnsWritten({ timers, settings, committer }: ClaimingWorker): Promise<void> {
  if (committer.idle) return
  const late = new Promise<void>((resolve) => timers.after(settings.drainMs, resolve))
  await Promise.race([late, committer.whenIdle()])
}
