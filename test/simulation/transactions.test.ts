// Transactions under seeded trouble: functions that throw, stores that fail before or after they have written, deaths at every point of a
// transaction, turns of another worker. In all cases the user's table and the journals agree.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, describe, expect, it } from "vitest"
import { SeededRandom } from "../../src/core/execution/seeded-random.ts"
import { type Context, type Sql, type TransactionContext, workflow } from "../../src/index.ts"
import type { StoreProvider } from "../../src/ports/store.ts"
import type { Transactions } from "../../src/ports/transactions.ts"
import { sqlite } from "../../src/sqlite.ts"
import { createTestEngine, expectReplay, type TestEngine } from "../../src/testing/test-engine.ts"
import { overriding } from "../../src/engine/method-overrides.ts"
import { Statistics } from "./statistics.ts"

const isLong = process.env["LONG"] === "1"
const one = process.env["SEED"]
const first = one === undefined ? 1 : Number(one)
/** Each seed uses a file of its own, and checks it after every action, which takes some tenths of a second. */
const seeds = Array.from({ length: one === undefined ? (isLong ? 300 : 30) : 1 }, (_, index) => first + index)
const instances = 5
const rounds = 3
const roundsMax = 500

const faults = ["error before", "error after", "death before", "death within", "death after", "lost", "late", "late answer"] as const
const folder = mkdtempSync(join(tmpdir(), "perdure-transactions-"))
const statistics = new Statistics()

afterAll(() => {
  rmSync(folder, { recursive: true })
})

/** Wraps a store, whose transactions may fail. `die` simulates the death of the process. */
function troubled(provider: StoreProvider, random: SeededRandom, isOver: () => boolean, die: () => void): StoreProvider {
  return {
    name: provider.name,
    open: async (context) => {
      const store = await provider.open(context)
      const transactions = store.transactions!
      const dead = (when: string): never => {
        die()
        throw new Error(`dead ${when}`)
      }
      const transact: Transactions["transact"] = async (run) => {
        const fault = isOver() || random.next() < 0.7 ? undefined : faults[Math.floor(random.next() * faults.length)]!
        if (fault !== undefined) statistics.count(fault)
        switch (fault) {
          case "error before":
            throw new Error("the line is dead")
          case "error after":
            await transactions.transact(run)
            throw new Error("the answer is lost")
          case "death before":
            return dead(fault)
          case "death within":
            return transactions.transact((sql) => {
              run(sql)
              return dead(fault)
            })
          case "death after":
            await transactions.transact(run)
            return dead(fault)
          case "lost":
            return transactions.transact((sql) => {
              const turn = run(sql)
              // The turn was made for a state that no longer exists.
              return { ...turn, position: turn.position + 1 }
            })
          case "late":
            await macrotasks()
            return transactions.transact(run)
          case "late answer": {
            const outcome = await transactions.transact(run)
            await macrotasks()
            return outcome
          }
          default:
            return transactions.transact(run)
        }
      }
      return overriding(store, { transactions: { transact } })
    },
  }
}

function flowOf(random: SeededRandom) {
  const act =
    (instance: string, step: string) =>
    (sql: Sql, { attempt, idempotencyKey }: TransactionContext) => {
      const nonce = `${attempt} ${random.next()}`
      sql.run("INSERT INTO effect VALUES (?, ?, ?, ?)", instance, step, idempotencyKey, nonce)
      if (random.next() < 0.2) throw new Error("not this time")
      return nonce
    }
  const options = { retry: { maxAttempts: 100, initialInterval: "1s", backoff: "fixed" } } as const
  return workflow("flow", async (ctx: Context) => {
    const { id } = ctx.instance
    const step = (name: string) => ctx.transaction(name, act(id, name), options)
    for (let round = 0; round < rounds; round++) {
      await step(`alone-${round}`)
      await Promise.all([
        step(`left-${round}`).then(() => ctx.do(`after-left-${round}`, () => round)),
        ctx.do(`beside-${round}`, async () => round),
        step(`right-${round}`),
        ctx.sleep(`nap-${round}`, "3s"),
      ])
      await ctx.do(`outer-${round}`, ({ step: inner }) => inner.transaction("inner", act(id, `outer-${round}/inner`), options))
    }
    return id
  })
}

async function recordedEffects(engine: TestEngine, id: string): Promise<readonly string[]> {
  const steps = await engine.get(id).steps()
  return steps.filter(({ type, status }) => type === "transaction" && status === "completed").map((step) => `${id} ${step.id} ${step.result as string}`)
}

async function play(seed: number): Promise<void> {
  const path = join(folder, `${seed}.db`)
  const outside = new DatabaseSync(path)
  outside.exec("PRAGMA journal_mode = WAL; CREATE TABLE effect (instance TEXT, step TEXT, key TEXT UNIQUE, nonce TEXT) STRICT")
  const readEffects = () =>
    outside
      .prepare("SELECT instance, step, nonce FROM effect")
      .all()
      .map(({ instance, step, nonce }) => `${String(instance)} ${String(step)} ${String(nonce)}`)
      .sort()
  const random = new SeededRandom(`transactions ${seed}`)
  const flow = flowOf(random)
  let isDead = false
  let played = -1
  const store = troubled(
    sqlite(path, { durability: "process" }),
    random,
    () => played < 0 || played > roundsMax / 2,
    () => {
      isDead = true
      engine.current.kill()
    },
  )
  const engine = await createTestEngine({ workflows: [flow], store, seed: `transactions ${seed}`, maxRecoveries: 10_000, log: silent })
  const ids = Array.from({ length: instances }, (_, index) => `i${index}`)
  for (const id of ids) await engine.start(flow, { id })
  for (played = 0; played < roundsMax; played++) {
    if (random.next() < 0.05) isDead = true
    else await engine.skip(Math.ceil(random.next() * 2_000))
    while (isDead) {
      isDead = false
      await engine.crash()
    }
    expect(readEffects()).toEqual((await Promise.all(ids.map((id) => recordedEffects(engine, id)))).flat().sort())
    if ((await engine.count({ status: "completed" }, "status"))["completed"] === instances) break
  }

  expect((await engine.count({}, "status"))["completed"]).toBe(instances)
  expect(readEffects()).toEqual((await Promise.all(ids.map((id) => recordedEffects(engine, id)))).flat().sort())
  expect(readEffects()).toHaveLength(instances * rounds * 4)
  for (const id of ids) expect(await expectReplay(await engine.journal(id), flow)).toMatchObject({ outcome: { ok: true, value: id }, asked: [] })
  await engine.close()
  outside.close()
}

/** Waits some macrotasks, in which all other code continues. */
async function macrotasks(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise<void>((resolve) => setImmediate(resolve))
}

const quiet = () => undefined
const silent = { debug: quiet, info: quiet, warn: quiet, error: quiet }

describe("transactions", () => {
  it("every seed leaves the user's table and the journals in agreement, at every moment", async () => {
    for (const seed of seeds) {
      await play(seed).catch((error: unknown) => {
        throw new Error(`SEED=${seed} npx vitest run --project simulation test/simulation/transactions.test.ts`, { cause: error })
      })
    }
    console.log(`${seeds.length} seeds: ${statistics.print()}`)
    expect(one === undefined ? faults.filter((fault) => statistics.get(fault) === 0) : []).toEqual([])
  })
})
