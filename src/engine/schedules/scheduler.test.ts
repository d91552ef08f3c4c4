import { describe, expect, it } from "vitest"
import { type Context, type Overlap, workflow } from "../../index.ts"
import { decodeSchedule, dueTimes, overlaps } from "../../core/time/schedule.ts"
import { SeededRandom } from "../../core/execution/seeded-random.ts"
import { macrotask, SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import type { ScheduleStore } from "../../ports/schedule-store.ts"
import type { StoreProvider } from "../../ports/store.ts"
import { memory } from "../../stores/memory/memory-provider.ts"
import { createTestEngine, type TestEngine } from "../../testing/test-engine.ts"
import { Engine } from "../engine.ts"

const startAt = Date.parse("2026-01-01T00:00:00Z")
const work = workflow("work", async (ctx: Context, ms: number) => ctx.sleep("for", ms))

type Write = ScheduleStore["write"]

/** A store whose changes of schedules go through the test. */
const watched = (inner: StoreProvider, watch: (write: Write) => Write): StoreProvider => ({
  name: "watched",
  open: async (context) => {
    const store = await inner.open(context)
    const write = watch((change) => store.schedules.write(change))
    const schedules = new Proxy(store.schedules, {
      get: (target, name) => (name === "write" ? write : (Reflect.get(target, name) as (...args: unknown[]) => unknown).bind(target)),
    })
    const { journal, directory, flow, role } = store
    return { journal, directory, schedules, flow, role, standBy: () => store.standBy(), onHint: (listen) => store.onHint(listen), close: () => store.close() }
  },
})

/** Every due time so far is there once: as an instance, as skipped or missed, or as waiting. */
async function expectAccounted(engine: Pick<TestEngine, "list" | "now">, store: Pick<ScheduleStore, "get">, id: string): Promise<void> {
  const row = (await store.get(id))!
  const schedule = decodeSchedule(row.state)
  const due = dueTimes(schedule, row.createdAt + 1, (row.dueAt ?? engine.now() + 1) - 1, 100_000)
  const { instances } = await engine.list({ idPrefix: `${id}:`, limit: 1_000 })
  const fired = instances.map((instance) => Date.parse(instance.id.slice(id.length + 1)))
  expect(new Set(fired).size).toBe(fired.length)
  expect(fired.filter((at) => !due.includes(at))).toEqual([])
  const { started, skipped, missed } = schedule.counts
  expect(started).toBe(fired.length)
  expect(started + skipped + missed + schedule.waiting.length).toBe(due.length)
  // What is in the log says it time by time.
  const unfired = schedule.log.flatMap((record) => (record.outcome === "started" ? [] : dueTimes(schedule, record.from, record.to, 100_000)))
  const seen = [...fired, ...unfired, ...schedule.waiting]
  const isWhole = schedule.log.length < 50
  expect(due.filter((at) => isWhole && !seen.includes(at))).toEqual([])
  expect(row.dueAt).toBeGreaterThan(engine.now())
}

describe("a process that dies at any change of a schedule", () => {
  const boundaries = overlaps.flatMap((overlap) => (["before", "after"] as const).map((when) => ({ overlap, when })))

  it.each(boundaries)("$when it is written, with `$overlap`, fires every time once", async ({ overlap, when }) => {
    for (let fatal = 0, wasReached = true; wasReached; fatal++) {
      let writes = 0
      const inner = memory()
      const store = watched(inner, (write) => async (change) => {
        if (writes++ !== fatal) return write(change)
        if (when === "after") await write(change)
        engine.current.kill()
        return new Promise<never>(() => undefined)
      })
      await using engine = await createTestEngine({ workflows: [work], store, startAt })
      const creating = engine.schedules.create("s", { workflow: work, input: 2_500, every: "1s", overlap, ifExists: "update" })
      // The creation itself may be what is cut off.
      void creating.catch(() => undefined)
      const opened = await inner.open({ now: () => engine.now(), log: engine.host.log, role: "client" })
      for (let second = 0; second < 8; second++) {
        await engine.skip("1s")
        if (writes > fatal && writes < 1_000) {
          writes = 1_000
          await engine.crash()
          if ((await opened.schedules.get("s")) === undefined) await engine.schedules.create("s", { workflow: work, input: 2_500, every: "1s", overlap })
        }
      }
      wasReached = writes >= 1_000
      await expectAccounted(engine, opened.schedules, "s")
    }
  })

  it("or whose answer gets lost, goes on from what was written", async () => {
    const messages: string[] = []
    const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: (message: string) => void messages.push(message) }
    const inner = memory()
    let writes = 0
    const store = watched(inner, (write) => async (change) => {
      const outcome = await write(change)
      if (++writes === 3) throw new Error("the answer got lost")
      return outcome
    })
    await using engine = await createTestEngine({ workflows: [work], store, startAt, log })
    await engine.schedules.create("s", { workflow: work, input: 10, every: "5s" })
    await engine.skip("30s")
    expect((await engine.list({ idPrefix: "s:" })).instances).toHaveLength(6)
    expect(messages).toEqual(['schedule "s" could not be fired; trying again'])
  })
})

async function settled(engines: readonly Engine[]): Promise<void> {
  for (let quiet = 0; quiet < 3;) {
    await new Promise<void>((resolve) => macrotask(resolve))
    quiet = engines.every(({ components }) => components.worker.idle && components.scheduler.idle) ? quiet + 1 : 0
  }
}

describe("a client and a worker on one store", () => {
  it("what the client does to a schedule, and to an instance that it waits for, the worker takes up by a hint", async () => {
    const host = new SimulatedHost({ startAt })
    const store = memory()
    const options = { lease: "52w", sweep: "52w" } as const
    const worker = await Engine.open({ host, store, workflows: [work], options })
    const client = await Engine.open({ host, store, workflows: [], options, role: "client" })
    const pass = (ms: number) => host.advanceTo(host.now() + ms, () => settled([worker, client]))
    const statuses = async () => (await client.list({ order: "oldest" })).instances.map(({ id, status }) => `${id.slice(-10)} ${status}`)

    const schedule = await client.schedules.create("s", { workflow: work, input: 600_000, every: "10s", overlap: "queue" })
    await pass(20_000)
    expect(await statuses()).toEqual(["T00:00:10Z sleeping"])
    await client.get("s:2026-01-01T00:00:10Z").terminate()
    await pass(0)
    expect(await statuses()).toEqual(["T00:00:10Z terminated", "T00:00:20Z sleeping"])
    await schedule.pause()
    await pass(30_000)
    await client.get("s:2026-01-01T00:00:20Z").cancel()
    await schedule.resume()
    await pass(10_000)
    const handle = await schedule.trigger({ input: 0 })
    await pass(0)
    expect(await handle.status()).toBe("completed")
    expect((await statuses()).slice(1)).toEqual(["T00:00:20Z cancelled", "T00:01:00Z sleeping", "01:00.001Z completed"])
    client.kill()
    worker.kill()
  })
})

describe("two workers on one store", () => {
  it.each(overlaps)("fire every time once, with `%s`", async (overlap) => {
    const host = new SimulatedHost({ startAt })
    const store = memory()
    const open = () => Engine.open({ host, store, workflows: [work], options: { lease: "52w", sweep: "1h" } })
    const engines = [await open(), await open(), await open()]
    const [first] = engines as [Engine]
    await first.schedules.create("s", { workflow: work, input: 25_000, every: "10s", overlap })
    await first.schedules.create("t", { workflow: work, input: 1_000, cron: "*/7 * * * * *", overlap })
    await host.advanceTo(startAt + 120_000, () => settled(engines))
    const view = { list: first.list.bind(first), now: () => host.now() }
    for (const id of ["s", "t"]) await expectAccounted(view, first.components.store.schedules, id)
    expect((await first.schedules.get("t").describe()).counts).toMatchObject({ started: 18, skipped: 0 })
    for (const engine of engines) engine.kill()
  })
})

describe("random schedules in a world where processes die", () => {
  const seeds = Array.from({ length: 40 }, (_, index) => index)

  it.each(seeds)("seed %i: every time is accounted for", async (seed) => {
    const random = new SeededRandom(`schedules ${seed}`)
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random.next() * values.length)]!
    const store = memory()
    await using engine = await createTestEngine({ workflows: [work], store, startAt: startAt + Math.floor(random.next() * 1e9), seed: `${seed}` })
    const options = {
      workflow: work,
      input: Math.floor(random.next() * 200_000),
      overlap: pick<Overlap>(overlaps),
      ...(random.next() < 0.5 ? undefined : { catchUp: Math.floor(random.next() * 600_000) }),
    }
    const times =
      random.next() < 0.5 ? { every: 1_000 + Math.floor(random.next() * 120_000) } : { cron: pick(["* * * * *", "*/5 * * * *", "*/20 * * * * *", "0 * * * *"]) }
    await engine.schedules.create("s", { ...options, ...times })
    const opened = await store.open({ now: () => engine.now(), log: engine.host.log, role: "client" })
    for (let event = 0; event < 12; event++) {
      await engine.skip(Math.floor(random.next() * 180_000))
      if (random.next() < 0.4) {
        engine.current.kill()
        await engine.host.advanceTo(engine.now() + Math.floor(random.next() * (random.next() < 0.2 ? 8_000_000 : 300_000)), () => Promise.resolve())
        await engine.crash()
      }
    }
    await engine.settle()
    await expectAccounted(engine, opened.schedules, "s")
  })
})

describe("many times that are caught up", () => {
  it("leave room between any two for what else goes on in the process", async () => {
    await using engine = await createTestEngine({ workflows: [work], startAt })
    const handle = await engine.schedules.create("s", { workflow: work, input: 1, every: "1s", catchUp: "1h", overlap: "allow" })
    engine.current.kill()
    await engine.host.advanceTo(startAt + 300_000, () => Promise.resolve())
    let macrotasks = 0
    const beat = () => {
      if (engine.current.components.scheduler.idle) return
      macrotasks++
      macrotask(beat)
    }
    const crashing = engine.crash()
    while (engine.current.components.scheduler.idle) await Promise.resolve()
    beat()
    await crashing
    expect((await handle.describe()).counts.started).toBe(300)
    expect(macrotasks).toBeGreaterThanOrEqual(300)
  })
})

describe("a schedule that cannot be fired", () => {
  it("does not keep others from it, is tried again ever more rarely, and fires when it can", async () => {
    const errors: number[] = []
    const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => void errors.push(engine.now()) }
    let isBroken = true
    const store = watched(memory(), (write) => async (change) => {
      if (isBroken && change.row.id === "bad" && change.row.revision > 1) throw new Error("damaged")
      return write(change)
    })
    await using engine = await createTestEngine({ workflows: [work], store, startAt, log })
    await engine.schedules.create("bad", { workflow: work, input: 1, every: "30m" })
    await engine.schedules.create("good", { workflow: work, input: 1, every: "10s" })
    // While one fails, the others may be a second late.
    await engine.skip("2401s")
    expect((await engine.schedules.get("good").describe()).counts).toEqual({ started: 240, skipped: 0, missed: 0 })
    expect(errors.length).toBeGreaterThan(5)
    expect(errors.length).toBeLessThan(20)
    isBroken = false
    await engine.skip("2m")
    expect((await engine.schedules.get("bad").describe()).counts).toEqual({ started: 1, skipped: 0, missed: 0 })
  })
})
