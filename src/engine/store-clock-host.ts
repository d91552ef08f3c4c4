import type { Host } from "../ports/host.ts"
import type { Store } from "../ports/store.ts"

/** The host as it is on a store with a clock of its own: all times are the store's, so that what is due here is due there. */
export function onStoreClock(host: Host, store: Pick<Store, "now">): Host {
  const { now } = store
  if (now === undefined) return host
  return {
    now,
    // Nothing is said of the wall clock of this process: that of the store is the only one.
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
