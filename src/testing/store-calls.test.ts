import { expect, it } from "vitest"
import { silentLogger } from "../hosts/silent-logger.ts"
import type { ClientTransaction } from "../ports/transactions.ts"
import type { Turn } from "../ports/journal-store.ts"
import type { StoreProvider } from "../ports/store.ts"
import { memory } from "../stores/memory/memory-provider.ts"
import { Gate } from "./scenarios/gate.ts"
import { overriding } from "../engine/method-overrides.ts"
import { StoreCalls } from "./store-calls.ts"

const context = { now: () => 0, log: silentLogger, role: "worker" } as const

it("transactions of steps and of callers are counted until they are answered", async () => {
  const gates = { begin: new Gate(), commit: new Gate(), within: new Gate() }
  const transaction: ClientTransaction = {
    client: { query: () => Promise.resolve({ rows: [], rowCount: 0 }) },
    lostBy: undefined,
    commit: () => gates.commit.passed.then(() => "lost"),
    rollBack: () => Promise.resolve(),
  }
  const provider: StoreProvider = {
    name: "with transactions",
    open: async (opening) =>
      overriding(await memory().open(opening), {
        clientTransactions: { begin: () => gates.begin.passed.then(() => transaction) },
        callerTransactions: { within: <T>() => gates.within.passed.then(() => 1 as T) },
      }),
  }
  const calls = new StoreCalls()
  const { clientTransactions, callerTransactions } = await calls.watch(provider).open(context)
  const whenOpen = async <T>(gate: Gate, answer: Promise<T> | undefined): Promise<T> => {
    expect(calls.idle).toBe(false)
    gate.open()
    const given = await answer
    expect(calls.idle).toBe(true)
    return given as T
  }
  const begun = await whenOpen(gates.begin, clientTransactions?.begin())
  expect(await whenOpen(gates.commit, begun.commit({} as Turn))).toBe("lost")
  expect(
    await whenOpen(
      gates.within,
      callerTransactions?.within({}, () => Promise.resolve(2)),
    ),
  ).toBe(1)
})
