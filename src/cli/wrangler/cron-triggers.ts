import { nextWallTime, parseCron } from "../../core/time/cron.ts"
import { nativeCron } from "../../dialects/cloudflare-workflows/cloudflare-cron.ts"

/** Node fires a longer timer at once. */
const timerMsMax = 2 ** 31 - 1

export interface CronTrigger {
  readonly cron: string
  /** When it comes next, in milliseconds since 1970. */
  readonly next: number | undefined
}

/** Calls a function at the times of cron expressions, in UTC. Times that pass while the process does not run are left out. */
export class CronTriggers {
  readonly #onTime: (cron: string, scheduledTime: number) => void
  readonly #timers = new Map<string, NodeJS.Timeout>()

  /** Throws `BAD_SCHEDULE` for what is no cron expression. */
  constructor(crons: readonly string[], onTime: (cron: string, scheduledTime: number) => void) {
    this.#onTime = onTime
    for (const { cron, next } of nextTriggers(crons, Date.now())) this.#wait(cron, next)
  }

  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }

  #wait(cron: string, time: number | undefined): void {
    if (time === undefined) return
    const timer = setTimeout(
      () => {
        if (Date.now() < time) return this.#wait(cron, time)
        this.#wait(cron, nextTime(cron, Date.now()))
        this.#onTime(cron, time)
      },
      Math.min(Math.max(time - Date.now(), 0), timerMsMax),
    )
    this.#timers.set(cron, timer)
  }
}

/** Throws `BAD_SCHEDULE` for what is no cron expression. */
export function nextTriggers(crons: readonly string[], now: number): readonly CronTrigger[] {
  return [...new Set(crons)].map((cron) => ({ cron, next: nextTime(cron, now) }))
}

function nextTime(cron: string, now: number): number | undefined {
  return nextWallTime(parseCron(nativeCron(cron)), now + 1)
}
