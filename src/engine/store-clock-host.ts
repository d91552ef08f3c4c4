import type { Host } from "../ports/host.ts"
import type { Store } from "../ports/store.ts"

/** The host with the clock of the store, if the store has one. All due times and leases then follow one clock, whatever the clocks of the workers show. */
export function onStoreClock(host: Host, store: Pick<Store, "now">): Host {
  const { now } = store
  if (now === undefined) return host
  return {
    now,
    // The wall clock of this process does not count, so the engine is never ahead of it.
    aheadMs: () => 0,
    monotonicMs: () => host.monotonicMs(),
    setTimer: (at, fire) => host.setTimer(at - now() + host.now(), fire),
    randomBytes: (length) => host.randomBytes(length),
    sha256: (text) => host.sha256(text),
    quiesce: (then, inARow) => host.quiesce(then, inARow),
    runIn: (scope, run) => host.runIn(scope, run),
    currentScope: () => host.currentScope(),
    onUnhandledRejection: (listener) => host.onUnhandledRejection(listener),
    log: host.log,
  }
}
