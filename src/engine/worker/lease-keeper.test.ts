import { expect, it } from "vitest"
import { PerdureError } from "../../core/errors.ts"
import { macrotask, SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import type { JournalStore } from "../../ports/journal-store.ts"
import { LeaseKeeper } from "./lease-keeper.ts"
import { Timers } from "./timers.ts"

const moment = () => new Promise<void>((resolve) => macrotask(resolve))
const leaseMs = 30_000

/** A lease keeper on a store that records its calls. Setting `failure` makes every call fail. */
function start() {
  const warnings: string[] = []
  const host = new SimulatedHost({ log: { debug() {}, info() {}, warn: (message) => warnings.push(message), error: (message) => warnings.push(message) } })
  const timers = new Timers(host)
  const store: { failure?: Error } = {}
  const calls: unknown[] = []
  const call = async <T>(answer: T, ...what: unknown[]): Promise<T> => {
    calls.push(what)
    if (store.failure) throw store.failure
    return answer
  }
  const journal: Pick<JournalStore, "renew" | "owned" | "release"> = {
    renew: (_worker, ms) => call(undefined, "renew", ms),
    owned: () => call(["a", "b"], "owned"),
    release: (_worker, ids) => call(undefined, "release", ids),
  }
  const lapses: number[] = []
  const onLapse = async () => void lapses.push(host.now())
  const leaseKeeper = new LeaseKeeper({ journal: journal as JournalStore, host, timers, worker: "w", offers: [], leaseMs, onLapse })
  const callsIn = async (ms: number) => {
    const before = calls.length
    await host.advanceTo(host.now() + ms, moment)
    return calls.length - before
  }
  return { host, store, calls, warnings, lapses, leaseKeeper, callsIn }
}

it("a lease is renewed at once, then every third of it, until the keeper stops", async () => {
  const { leaseKeeper, calls, callsIn, lapses } = start()
  await leaseKeeper.start()
  expect(calls).toEqual([["renew", leaseMs]])
  expect(await callsIn(2 * leaseMs)).toBe(6)
  leaseKeeper.stop()
  expect(await callsIn(2 * leaseMs)).toBe(0)
  expect(lapses).toEqual([])
})

it("a renewal that fails is tried again every second, and the lease has lapsed only if that takes longer than the lease", async () => {
  const { leaseKeeper, store, callsIn, lapses } = start()
  await leaseKeeper.start()
  store.failure = new PerdureError("STORE_UNREACHABLE", "it is away")
  expect(await callsIn(leaseMs - 5_000)).toBeGreaterThan(10)
  delete store.failure
  await callsIn(2_000)
  expect(lapses).toEqual([])
  store.failure = new PerdureError("STORE_UNREACHABLE", "it is away")
  await callsIn(2 * leaseMs)
  delete store.failure
  await callsIn(2_000)
  expect(lapses).toHaveLength(1)
  await callsIn(2 * leaseMs)
  expect(lapses).toHaveLength(1)
  leaseKeeper.stop()
})

it("a worker that stood still for longer than its lease reports the lapse with the next renewal", async () => {
  const { leaseKeeper, host, callsIn, lapses } = start()
  await leaseKeeper.start()
  host.freeze(2 * leaseMs)
  await callsIn(1)
  expect(lapses).toHaveLength(1)
  leaseKeeper.stop()
})

it("at shutdown all instances are released, and then the lease ends", async () => {
  const { leaseKeeper, calls } = start()
  await leaseKeeper.start()
  leaseKeeper.stop()
  await leaseKeeper.releaseAll()
  expect(calls.slice(1)).toEqual([["owned"], ["release", ["a", "b"]], ["renew", 0]])
})

it("a store that cannot be reached does not keep a worker from closing, another failure is reported", async () => {
  const { leaseKeeper, store, warnings } = start()
  store.failure = new PerdureError("STORE_UNREACHABLE", "it is away")
  await leaseKeeper.releaseAll()
  expect(warnings).toEqual([expect.stringContaining("could not be released")])
  store.failure = new Error("a bug")
  await expect(leaseKeeper.releaseAll()).rejects.toThrow("a bug")
})
