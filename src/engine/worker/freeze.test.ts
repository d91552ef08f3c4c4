// A worker stands still for longer than its lease, and another worker continues with its instances.

import { expect, it } from "vitest"
import type { Context } from "../../core/workflow/context.ts"
import { workflow } from "../../core/workflow/workflow.ts"
import { macrotask, SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import type { StoreProvider } from "../../ports/store.ts"
import { memory } from "../../stores/memory/memory-provider.ts"
import { Gate } from "../../testing/scenarios/gate.ts"
import { Engine } from "../engine.ts"
import { overriding } from "../method-overrides.ts"

const moments = async () => {
  for (let i = 0; i < 20; i++) await new Promise<void>((resolve) => macrotask(resolve))
}

/** A store without hints, as on a connection that is lost during the freeze. */
const withoutHints = (provider: StoreProvider): StoreProvider => ({
  ...provider,
  open: async (context) => overriding(await provider.open(context), { onHint: () => () => undefined }),
})

const leaseMs = 2_000
const options = { lease: leaseMs, sweep: "1h" } as const

async function openTwo() {
  const shared = memory()
  const hosts = [new SimulatedHost({ seed: "a" }), new SimulatedHost({ seed: "b" })] as const
  const begun = new Gate()
  const finish = new Gate()
  const aborted: unknown[] = []
  const work = workflow("work", async (ctx: Context) =>
    ctx.do("charge", async ({ signal, attempt }) => {
      if (attempt > 1) return "charged"
      begun.open()
      signal.addEventListener("abort", () => {
        aborted.push(signal.reason)
        finish.open()
      })
      await finish.passed
      return "charged by the one that was frozen"
    }),
  )
  const frozen = await Engine.open({ host: hosts[0], store: withoutHints(shared), workflows: [work], options })
  await frozen.start(work, { id: "i" })
  await begun.passed
  const other = await Engine.open({ host: hosts[1], store: shared, workflows: [work], options: { ...options, sweep: "1s" } })
  return { hosts, frozen, other, aborted, finish }
}

it("a caller waiting for a result is answered with the next renewal, and the signal of the step is aborted", async () => {
  const { hosts, frozen, other, aborted } = await openTwo()
  const result = frozen.get("i").result()
  let isAnswered = false
  void result.then(() => (isAnswered = true))
  await hosts[1].advanceTo(hosts[1].now() + 5_000, moments)
  expect(await other.get("i").result()).toBe("charged")
  expect([aborted, isAnswered]).toEqual([[], false])
  hosts[0].freeze(5_000)
  await hosts[0].advanceTo(hosts[0].now() + 1, moments)
  expect(aborted).toEqual([expect.objectContaining({ message: expect.stringContaining("another worker has the instance") as string })])
  expect(isAnswered).toBe(true)
  expect(await result).toBe("charged")
  await frozen.close()
  await other.close()
})

it("a renewal that was in flight during the freeze does not prove that the lease was kept", async () => {
  const { hosts, frozen, other, aborted } = await openTwo()
  const { journal } = frozen.components.store
  const renew = journal.renew.bind(journal)
  const answered = new Gate()
  let renewals = 0
  journal.renew = async (...args) => {
    await renew(...args)
    if (++renewals === 1) await answered.passed
  }
  await hosts[0].advanceTo(hosts[0].now() + leaseMs / 3 + 1, moments)
  expect(renewals).toBe(1)
  await hosts[1].advanceTo(hosts[1].now() + 5_000, moments)
  expect(await other.get("i").result()).toBe("charged")
  hosts[0].freeze(5_000)
  answered.open()
  await moments()
  expect(aborted).toHaveLength(1)
  expect(await frozen.get("i").result()).toBe("charged")
  await frozen.close()
  await other.close()
})

it("waiting callers ask the store again when a turn is lost to another worker", async () => {
  const { hosts, frozen, other, finish } = await openTwo()
  const result = frozen.get("i").result()
  let isAnswered = false
  void result.then(() => (isAnswered = true))
  await hosts[1].advanceTo(hosts[1].now() + 5_000, moments)
  expect(await other.get("i").result()).toBe("charged")
  // No time has passed for this worker, so only the lost turn shows it.
  finish.open()
  await moments()
  expect(isAnswered).toBe(true)
  expect(await result).toBe("charged")
  await frozen.close()
  await other.close()
})
