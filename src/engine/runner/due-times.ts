/** A timer that an instance is about to record: the end of a sleep, the next attempt of a step, or the timeout of a wait. */
export interface TimerAsk {
  readonly kind: "sleep" | "retry" | "timeout"
  readonly workflow: string
  readonly instance: string
  /** The id of the step, sleep or wait. */
  readonly id: string
}

/** Decides when a timer is due. `dueAt`: when the code wants it; Infinity for a wait without a timeout. The test kit lets timers pass at once with this. */
export type DueTimes = (timer: TimerAsk, dueAt: number) => number
