import type { Duration } from "../../core/time/duration.ts"

/** The surroundings of one run of a simulation. The fakes that a workflow's steps call are created with it for each run. */
export interface SimulatedWorld {
  /**
   * Records an effect on the outside world that cannot be undone. Effects with the same key count once: the service recognises the key. An effect
   * without a key counts every time.
   */
  effect(name: string, key?: string): void
  /** The virtual time, in milliseconds since 1970. */
  now(): number
  /** Lets virtual time pass, like a slow service. The promise never resolves if the process dies meanwhile. */
  sleep(duration: Duration): Promise<void>
}
