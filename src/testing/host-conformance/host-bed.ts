import type { Host } from "../../ports/host.ts"

/** A host for one test. */
export interface HostBed {
  readonly host: Host
  /** Lets so much of the host's time pass, and whatever is due happen. */
  readonly pass: (ms: number) => Promise<void>
  /** Somebody sets the wall clock by so much. */
  readonly setWallClock: (byMs: number) => void
}

/** Where the cases find the bed of the test that runs now. */
export type CurrentHost = () => HostBed

/** One macrotask of the host. */
export function quiet(host: Host, inARow = false): Promise<void> {
  return new Promise((resolve) => host.quiesce(resolve, inARow))
}
