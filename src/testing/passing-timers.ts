import { stepName } from "../core/workflow/step-id.ts"
import type { DueTimes, TimerAsk } from "../engine/runner/due-times.ts"
import { AskOrder } from "./ask-order.ts"
import { type InstanceChoice, isChosen } from "./selected-instances.ts"

/** What passes at once: sleeps, delays before the next attempt of a step, or timeouts of waits. */
export type PassingTimers = "sleeps" | "retries" | "timeouts"

/** Options of `passAtOnce`. */
export interface PassOptions {
  /** The name or the id of the step, sleep or wait. Default: every one. */
  readonly step?: string
  /** Only the n-th step, sleep or wait of that name in an instance, from 1 on. Default: each of them. */
  readonly nth?: number
  /** The id of the instance, or a function that chooses instances by their ids. Default: all instances of the workflow. */
  readonly instance?: InstanceChoice
}

const kinds = { sleep: "sleeps", retry: "retries", timeout: "timeouts" } as const satisfies Record<TimerAsk["kind"], PassingTimers>

/** The timers that are due as soon as they are set, so that no time has to pass. */
export class PassingTimersTable {
  readonly #entries = new Set<PassOptions & { readonly workflow: string; readonly what: PassingTimers }>()
  readonly #order = new AskOrder()

  add(workflow: string, what: PassingTimers, options: PassOptions): Disposable {
    const entry = { workflow, what, ...options }
    this.#entries.add(entry)
    return { [Symbol.dispose]: () => void this.#entries.delete(entry) }
  }

  /** `now`: the virtual time. */
  dueTimes(now: () => number): DueTimes {
    return (timer, dueAt) => (this.#passes(timer) ? Math.min(dueAt, now()) : dueAt)
  }

  #passes({ kind, workflow, instance, id }: TimerAsk): boolean {
    const name = stepName(id)
    const place = this.#order.placeOf(kind, instance, name, id)
    return [...this.#entries].some(
      (entry) =>
        entry.workflow === workflow &&
        entry.what === kinds[kind] &&
        (entry.step === undefined || entry.step === name || entry.step === id) &&
        (entry.nth === undefined || entry.nth === place) &&
        isChosen(entry.instance, instance),
    )
  }
}
