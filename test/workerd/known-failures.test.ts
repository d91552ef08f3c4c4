// Each case is a failure that was once found in an engine on Durable Objects.

import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test"
import { type DurableObjectNamespace, env } from "cloudflare:workers"
import type { Status } from "perdure"
import { createWorkerApp, workflowClient } from "perdure/cloudflare"
import { describe, expect, it } from "vitest"
import { soon, until } from "./eventually.ts"
import { busy, gates, marksOf } from "./trouble-runner.ts"

const { TROUBLE_RUNNER } = env as { readonly TROUBLE_RUNNER: DurableObjectNamespace }
const client = workflowClient(TROUBLE_RUNNER)
const stubOf = (id: string) => TROUBLE_RUNNER.get(TROUBLE_RUNNER.idFromName(id))
const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

const codeOf = (promise: Promise<unknown>) =>
  // An RPC promise turns a read of any property into a call, so only `then` may be read.
  promise.then(
    () => "no error",
    (error: { readonly code?: string }) => error.code ?? error,
  )

/** Polls shared memory only, so that no call wakes the object. */
function untilMarked(id: string, name: string, times = 1): Promise<void> {
  return until(`${id} is ${times} times at "${name}"`, () => marksOf(id, name).length >= times)
}

function untilStatus(id: string, status: Status): Promise<void> {
  return until(`instance ${id} is ${status}`, async () => (await client.get(id).status()) === status)
}

const alarmOf = (id: string) => runInDurableObject(stubOf(id), (_, { storage }) => storage.getAlarm())

/** Aborts the object: its memory is lost, and its work stops. */
async function crash(id: string): Promise<void> {
  await runInDurableObject(stubOf(id), (_, state) => state.abort("a crash, for a test")).catch(() => undefined)
}

describe("retries", () => {
  it("the wait for a retry survives eviction: it is tried when its time has come, and not before", async () => {
    await client.start("flaky", { id: "retry", input: { waitMs: 400 } })
    await untilMarked("retry", "attempt")
    await evictDurableObject(stubOf("retry"))
    await untilMarked("retry", "attempt", 2)
    const [first = 0, second = 0] = marksOf("retry", "attempt")
    expect(second - first).toBeGreaterThanOrEqual(399)
    expect(await client.get("retry").result()).toBe("done")
  })

  it("a step whose attempts are used up does not run again on replay", async () => {
    await client.start("exhausted", { id: "used-up" })
    await untilStatus("used-up", "waiting")
    await evictDurableObject(stubOf("used-up"))
    await client.get("used-up").sendEvent("go")
    expect(await client.get("used-up").result()).toBe("broken 2")
    expect(marksOf("used-up", "attempt")).toHaveLength(2)
  })
})

describe("sleeps", () => {
  it("a sleep is not restarted by a wake-up: it ends when it was to end", async () => {
    await client.start("sleeper", { id: "nap", input: { ms: 2_000 } })
    await untilStatus("nap", "sleeping")
    const wakeAt = async () => (await client.get("nap").steps()).find(({ name }) => name === "nap")?.wakeAt
    const before = await wakeAt()
    await evictDurableObject(stubOf("nap"))
    expect(await wakeAt()).toBe(before)
    await evictDurableObject(stubOf("nap"))
    await untilMarked("nap", "woke")
    const [begun = 0] = marksOf("nap", "begun")
    const [woke = 0] = marksOf("nap", "woke")
    expect(woke - begun).toBeGreaterThanOrEqual(1_999)
    expect(woke).toBeGreaterThanOrEqual(Number(before))
    expect(await client.get("nap").result()).toBe("slept")
    expect(marksOf("nap", "begun")).toHaveLength(1)
  })

  it("the alarm of one sleep is not replaced by that of a later one", async () => {
    // The sleep is long enough that the alarm does not fire while the test reads it, also on a busy machine.
    await client.start("parallel", { id: "two-sleeps", input: { shortMs: 3_000, longMs: 600_000 } })
    await untilStatus("two-sleeps", "waiting")
    const alarm = await alarmOf("two-sleeps")
    expect(alarm).toBeLessThan(Date.now() + 10_000)
    await evictDurableObject(stubOf("two-sleeps"))
    await untilMarked("two-sleeps", "short")
    expect(marksOf("two-sleeps", "long")).toHaveLength(0)
    expect(await alarmOf("two-sleeps")).not.toBeNull()
  })

  it("the alarm of a sleep is not deleted by a wait beside it that ends", async () => {
    await client.start("parallel", { id: "sleep-and-wait", input: { shortMs: 400, longMs: 700 } })
    await untilStatus("sleep-and-wait", "waiting")
    await client.get("sleep-and-wait").sendEvent("sign")
    await untilMarked("sleep-and-wait", "sign")
    await evictDurableObject(stubOf("sleep-and-wait"))
    await untilMarked("sleep-and-wait", "short")
    await untilMarked("sleep-and-wait", "long")
    expect(await client.get("sleep-and-wait").result()).toBe("all")
  })
})

describe("instances that are over, or held", () => {
  it("neither resume, nor an event, nor the alarm revives a terminated instance", async () => {
    await client.start("sleeper", { id: "dead", input: { ms: 3_600_000 } })
    await untilStatus("dead", "sleeping")
    const handle = client.get("dead")
    await handle.terminate()
    await untilStatus("dead", "terminated")
    expect(await handle.resume()).toMatchObject({ accepted: false, status: "terminated" })
    expect(await codeOf(handle.sendEvent("note"))).toBe("INSTANCE_ENDED")
    await evictDurableObject(stubOf("dead"))
    await runDurableObjectAlarm(stubOf("dead"))
    expect(await handle.status()).toBe("terminated")
    // After the update of the index, the object has no alarm.
    await soon(async () => expect(await alarmOf("dead")).toBe(null))
    expect(marksOf("dead", "woke")).toHaveLength(0)
  })

  it("a run that is under way does not overwrite a pause", async () => {
    await client.start("gated", { id: "held" })
    await untilMarked("held", "work")
    await client.get("held").pause()
    gates.add("held/work")
    await untilStatus("held", "paused")
    await wait(50)
    expect(await client.get("held").status()).toBe("paused")
    expect(marksOf("held", "next")).toHaveLength(0)
    await client.get("held").resume()
    expect(await client.get("held").result()).toBe("worked")
    expect(marksOf("held", "work")).toHaveLength(1)
  })

  it("a run that is under way does not overwrite a termination", async () => {
    await client.start("gated", { id: "ended" })
    await untilMarked("ended", "work")
    await client.get("ended").terminate()
    gates.add("ended/work")
    await wait(50)
    expect(await client.get("ended").status()).toBe("terminated")
    await evictDurableObject(stubOf("ended"))
    await runDurableObjectAlarm(stubOf("ended"))
    expect(await client.get("ended").status()).toBe("terminated")
    expect(marksOf("ended", "next")).toHaveLength(0)
  })

  it("two runs of one instance are never there at once, whoever wakes it", async () => {
    const start = () => client.start("gated", { id: "single", ifExists: "return" })
    await Promise.all([start(), start(), start()])
    await untilMarked("single", "work")
    const stub = stubOf("single")
    await Promise.all([
      start(),
      runDurableObjectAlarm(stub),
      client.get("single").sendEvent("note"),
      client.get("single").describe(),
      runDurableObjectAlarm(stub),
    ])
    await wait(30)
    gates.add("single/work")
    expect(await client.get("single").result()).toBe("worked")
    expect(busy.get("single")).toEqual({ now: 0, most: 1 })
    expect(marksOf("single", "work")).toHaveLength(1)
  })
})

describe("events", () => {
  it("an event without a payload is one", async () => {
    await client.start("listener", { id: "bare", input: { count: 2 } })
    await client.get("bare").sendEvent("note")
    await client.get("bare").sendEvent("note", null)
    expect(await client.get("bare").result()).toEqual([undefined, null])
  })

  it("events of one and the same millisecond come in the order in which they were sent", async () => {
    const notes = Array.from({ length: 50 }, (_, index) => index)
    await client.start("listener", { id: "in-order", input: { count: notes.length } })
    const stub = stubOf("in-order") as unknown as { deliverEvent(request: { event: string; payload: number }): Promise<void> }
    // Calls from one caller reach an object in order, and the clock of the object stands still meanwhile.
    await Promise.all(notes.map((payload) => stub.deliverEvent({ event: "note", payload })))
    expect(await client.get("in-order").result()).toEqual(notes)
  })

  it("a wake is not lost where the event comes while the instance is at work", async () => {
    await client.start("occupied", { id: "late" })
    await untilMarked("late", "work")
    await client.get("late").sendEvent("note", "heard")
    gates.add("late/work")
    await untilMarked("late", "after")
    expect(await client.get("late").result()).toBe("heard")
  })

  it("an event that was taken before a crash is there for the step that it was for", async () => {
    await client.start("consumer", { id: "taken" })
    await untilStatus("taken", "waiting")
    await client.get("taken").sendEvent("note", { n: 1 })
    await untilMarked("taken", "use")
    await crash("taken")
    gates.add("taken/use")
    await runDurableObjectAlarm(stubOf("taken"))
    expect(await client.get("taken").result()).toEqual({ n: 1 })
    expect(marksOf("taken", "use")).toHaveLength(2)
  })
})

describe("crashes", () => {
  it("a crash inside a step stalls nobody: the alarm that brings the object back is set before the step begins, and is near", async () => {
    await client.start("gated", { id: "killed" })
    await untilMarked("killed", "work")
    const alarm = await alarmOf("killed")
    expect(Number(alarm) - Date.now()).toBeLessThanOrEqual(60_000)
    await crash("killed")
    gates.add("killed/work")
    expect(await runDurableObjectAlarm(stubOf("killed"))).toBe(true)
    await untilMarked("killed", "next")
    expect(await client.get("killed").result()).toBe("worked")
    expect(marksOf("killed", "work")).toHaveLength(2)
  })

  it("the limit of crashes counts those in a row, and is not reset before there is progress", async () => {
    await client.start("gated", { id: "doomed" })
    for (let crashes = 1; crashes <= 3; crashes++) {
      await untilMarked("doomed", "work", crashes)
      await crash("doomed")
      await runDurableObjectAlarm(stubOf("doomed"))
    }
    await untilMarked("doomed", "work", 4)
    await crash("doomed")
    await runDurableObjectAlarm(stubOf("doomed"))
    await untilStatus("doomed", "stalled")
    expect(marksOf("doomed", "work")).toHaveLength(4)
  })

  it("an instance of many in memory at once goes on after all of them are gone", async () => {
    const ids = Array.from({ length: 10 }, (_, index) => `crowd-${index}`)
    await Promise.all(ids.map((id) => client.start("sleeper", { id, input: { ms: 8_000 } })))
    await Promise.all(ids.map((id) => untilStatus(id, "sleeping")))
    await abortAllDurableObjects()
    await Promise.all(ids.map((id) => untilMarked(id, "woke")))
    expect(await Promise.all(ids.map((id) => client.get(id).result()))).toEqual(ids.map(() => "slept"))
  })
})

describe("the index", () => {
  const rowsOf = async (idPrefix: string) => (await client.list({ idPrefix, order: "oldest" })).instances.map(({ id, status }) => `${id} ${status}`)

  async function untilRows(idPrefix: string, expected: readonly string[]): Promise<void> {
    await soon(async () => expect(await rowsOf(idPrefix)).toEqual(expected))
  }

  it("no row is stuck at what its instance was, also where the object goes at the moment of the change", async () => {
    await client.start("gated", { id: "row-1" })
    await untilMarked("row-1", "work")
    await untilRows("row-", ["row-1 running"])
    gates.add("row-1/work")
    await untilMarked("row-1", "next")
    await crash("row-1")
    await runDurableObjectAlarm(stubOf("row-1"))
    expect(await client.get("row-1").result()).toBe("worked")
    await untilRows("row-", ["row-1 completed"])
  })

  it("an instance is in it once, under its own id, however often it is started, restarted and evicted", async () => {
    const start = () => client.start("listener", { id: "once-1", input: { count: 1 }, ifExists: "return" })
    await Promise.all([start(), start(), start()])
    await evictDurableObject(stubOf("once-1"))
    await start()
    await client.get("once-1").sendEvent("note", 1)
    await client.get("once-1").result()
    await client.get("once-1").restart()
    await untilRows("once-", ["once-1 waiting"])
    await client.get("once-1").sendEvent("note", 2)
    expect(await client.get("once-1").result()).toEqual([2])
    await untilRows("once-", ["once-1 completed"])
  })
})

describe("over HTTP", () => {
  it("an unknown id is not found, whatever is asked of it; it is no error of the server", async () => {
    const app = createWorkerApp({ binding: "TROUBLE_RUNNER" })
    const answer = async (method: string, path: string, body?: object) => {
      const init = { method, ...(body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }) }
      return (await app.fetch(new Request(`https://example.com${path}`, init), env as object)).status
    }
    expect(await answer("GET", "/workflows/nobody")).toBe(404)
    expect(await answer("POST", "/workflows/nobody/pause", {})).toBe(404)
    expect(await answer("POST", "/workflows/nobody/events/note", { payload: 1 })).toBe(404)
    const stub = stubOf("nobody") as unknown as { getStatus(): Promise<unknown> }
    expect(await codeOf(stub.getStatus())).toBe("NOT_FOUND")
    expect(await codeOf(client.describe("nobody"))).toBe("NOT_FOUND")
  })
})
