import type { Host } from "../../ports/host.ts"

/** A host for one test. */
export interface HostBed {
  readonly host: Host
  /** Lets this much of the host's time pass, so that due timers fire. */
  readonly pass: (ms: number) => Promise<void>
  /** Sets the wall clock forward or back by this much. */
  readonly setWallClock: (byMs: number) => void
}

/** Returns the bed of the running test. */
export type CurrentHost = () => HostBed

/** One macrotask of the host. */
export function quiet(host: Host, inARow = false): Promise<void> {
  return new Promise((resolve) => host.quiesce(resolve, inARow))
}
