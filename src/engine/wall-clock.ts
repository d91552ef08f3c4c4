import type { Host } from "../ports/host.ts"

/** The time of the wall clock. Schedules follow it, because they name instants. The engine's own time never goes back, even if the wall clock does. */
export function wallNow(host: Host): number {
  return host.now() - host.aheadMs()
}
