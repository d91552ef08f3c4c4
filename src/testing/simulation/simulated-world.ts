import type { Duration } from "../../core/time/duration.ts"

/** What surrounds one run of a simulation: the fakes that a workflow's steps talk to are made with it, anew for every run. */
export interface SimulatedWorld {
  /**
   * Something happened out there that cannot be taken back. With a key it counts once for each key: the service knows the request
   * again. Without one it counts every time.
   */
  effect(name: string, key?: string): void
  /** Virtual time. */
  now(): number
  /** Lets virtual time pass, as a slow service does. It never comes back if the process dies meanwhile. */
  sleep(duration: Duration): Promise<void>
}
