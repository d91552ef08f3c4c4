import type { Host } from "../ports/host.ts"

/** What the wall clock shows: schedules follow it, as they name instants. An engine works by another time, which never goes back. */
export function wallNow(host: Host): number {
  return host.now() - host.aheadMs()
}
