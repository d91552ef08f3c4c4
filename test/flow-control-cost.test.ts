// A large burst on one key drains by itself. Each instance costs the same number of calls, and no timer polls.

import { type Context, workflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { createTestEngine, memory } from "perdure/testing"
import { expect, it } from "vitest"
import type { StoreProvider } from "../src/ports/store.ts"

interface Job {
  readonly key: string
}

/** Wraps a store, and counts the calls of its journal. */
function counted(inner: StoreProvider, calls: Map<string, number>): StoreProvider {
  return {
    name: inner.name,
    open: async (context) => {
      const store = await inner.open(context)
      const journal = new Proxy(store.journal, {
        get: (target, name) => {
          const method: unknown = Reflect.get(target, name)
          // Some methods are optional.
          if (typeof method !== "function") return method
          return (...args: unknown[]) => {
            calls.set(String(name), (calls.get(String(name)) ?? 0) + 1)
            return Reflect.apply(method, target, args) as unknown
          }
        },
      })
      const { directory, schedules, flow, role } = store
      return {
        journal,
        directory,
        schedules,
        flow,
        role,
        standBy: () => store.standBy(),
        onHint: (listener) => store.onHint(listener),
        close: () => store.close(),
      }
    },
  }
}

const limit = 5

const cases = [
  { name: "memory", store: memory, burst: 10_000 },
  { name: "sqlite", store: () => sqlite(":memory:"), burst: process.env["LONG"] === "1" ? 10_000 : 2_000 },
]

it.each(cases)(
  "$burst starts on a key with a limit of 5 never exceed it, and drain without polling, on $name",
  { timeout: 120_000 },
  async ({ store, burst }) => {
    const calls = new Map<string, number>()
    let inside = 0
    let most = 0
    const flow = workflow("flow", { concurrency: { limit, key: (input) => input.key } }, (ctx: Context, _input: Job) =>
      ctx.do("work", async () => {
        most = Math.max(most, ++inside)
        await new Promise<void>((resolve) => setImmediate(resolve))
        inside--
      }),
    )
    await using engine = await createTestEngine({ workflows: [flow], store: counted(store(), calls) })
    const answers = await engine.startBatch(Array.from({ length: burst }, (_, i) => ({ workflow: flow, id: `i${i}`, input: { key: "a" } })))
    expect(answers.every(({ created }) => created)).toBe(true)
    await engine.settle()
    expect(await engine.count({}, "status")).toEqual({ completed: burst })
    expect(most).toBe(limit)
    // The clock did not move, so a timer that polls would still be set.
    expect(engine.host.nextTimerAt()).toBeGreaterThan(engine.now() + 86_400_000)
    const counts = ["claim", "nextDueAt", "commit", "release", "readInbox", "owned", "unread"].map((call) => ({ call, count: calls.get(call) ?? 0 }))
    expect(counts.filter(({ count }) => count >= 1.2 * burst)).toEqual([])
    expect(calls.get("readJournal")).toBe(burst)
  },
)
