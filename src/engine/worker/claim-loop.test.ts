import { expect, it } from "vitest"
import { silentLogger } from "../../hosts/silent-logger.ts"
import { PerdureError } from "../../core/errors.ts"
import { macrotask, SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import type { ClaimRequest, JournalStore } from "../../ports/journal-store.ts"
import { ClaimLoop } from "./claim-loop.ts"
import { Timers } from "./timers.ts"

const moment = () => new Promise<void>((resolve) => macrotask(resolve))

it("claims do not multiply while the store is unreachable, and the first successful claim takes all instances requested meanwhile", async () => {
  const host = new SimulatedHost({ log: silentLogger })
  const timers = new Timers(host)
  let isAway = true
  const claims: (readonly string[] | undefined)[] = []
  const journal: Pick<JournalStore, "claim" | "nextDueAt"> = {
    claim: ({ ids }: ClaimRequest) => {
      claims.push(ids)
      if (!isAway) return Promise.resolve([])
      return new Promise((_, reject) => host.setTimer(host.now() + 10, () => reject(new PerdureError("STORE_UNREACHABLE", "it is away"))))
    },
    nextDueAt: () => Promise.resolve(undefined),
  }
  const claimLoop: ClaimLoop = new ClaimLoop({
    journal: journal as JournalStore,
    host,
    timers,
    worker: "w",
    offers: [],
    leaseMs: 3_600_000,
    sweepMs: 3_600_000,
    isResidentOrLoading: () => false,
    makeRoom: () => 10,
    onClaimed: () => Promise.resolve(),
    // The sweep of a worker requests a claim as well.
    onSweep: () => claimLoop.requestClaim(),
  })
  const claimsIn = async (ms: number) => {
    const before = claims.length
    await host.advanceTo(host.now() + ms, moment)
    return claims.length - before
  }
  claimLoop.start()
  expect(await claimsIn(8_000)).toBeLessThanOrEqual(2 * 8)
  claimLoop.requestClaim(["a"])
  isAway = false
  const begun = claims.length
  await claimsIn(2_000)
  expect(claims.slice(begun)).toContain(undefined)
  expect(await claimsIn(60_000)).toBe(0)
  await claimLoop.stop()
  timers.close()
})
