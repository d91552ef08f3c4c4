// A slot is taken once and released, and a due time starts one instance, also if an object dies before it sends an order or before the response arrives.

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test"
import { describe, expect, it, onTestFinished } from "vitest"
import { client, deathAt, dieAll, entries, moments, pause, settled, stubOf } from "./deaths.ts"
import { soon, until } from "./eventually.ts"
import { inside, runs } from "./faulty-runner.ts"

const limitOf = (workflow: string, key: string) => `@limit:${workflow}/concurrency/${key}`

async function membersOf(limit: string): Promise<readonly unknown[]> {
  return runInDurableObject(stubOf(limit), (_, { storage }) => {
    const isThere = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'perdure_limit_member'").toArray().length > 0
    return isThere ? storage.sql.exec("SELECT id FROM perdure_limit_member").toArray() : []
  })
}

/** Fires alarms until no instance has the key or waits for it. */
async function given(limit: string, ids: readonly string[]): Promise<void> {
  await soon(async () => {
    for (const name of [limit, ...ids]) await runDurableObjectAlarm(stubOf(name))
    expect(await membersOf(limit)).toEqual([])
  })
}

/** Fires alarms until `count` instances are at work. */
async function crowded(key: string, count: number, ids: readonly string[]): Promise<void> {
  await until(`${count} are at work`, async () => {
    for (const id of ids) await runDurableObjectAlarm(stubOf(id))
    return (inside.now.get(key)?.size ?? 0) >= count
  })
  expect(inside.now.get(key)?.size).toBe(count)
}

describe.each(moments)("objects that die %s a call", (moment) => {
  it.each(["slotAsk", "slotGive", "limitsJoin"] as const)("have a slot once and give it back: %s", async (method) => {
    const key = `${method}-${moment}`
    const limit = limitOf("single", key)
    const ids = [`${key}-a`, `${key}-b`, `${key}-c`]
    const die = deathAt({ method, target: method === "limitsJoin" ? "@limit-settings:single" : limit, moment })
    const started = Promise.allSettled(ids.map((id) => client.start("single", { id, input: { key } })))
    await die()
    await started
    for (const id of ids) await client.start("single", { id, input: { key }, ifExists: "return" })
    for (const id of ids) expect(await settled(client.get(id), [limit, ...ids])).toBe("completed")
    await given(limit, ids)
    expect(inside.most.get(key)).toBe(1)
    for (const id of ids) expect(await entries(id, "run.started")).toBe(1)
  })

  it("tell one in line of its slot", async () => {
    const key = `hint-${moment}`
    const limit = limitOf("single", key)
    const ids = [`${key}-a`, `${key}-b`]
    const die = deathAt({ method: "slotHint", target: key, moment })
    for (const id of ids) await client.start("single", { id, input: { key } })
    await die()
    for (const id of ids) expect(await settled(client.get(id), [limit, ...ids])).toBe("completed")
    await given(limit, ids)
    expect(inside.most.get(key)).toBe(1)
  })

  it("go by what was set for their limit", async () => {
    const key = `set-${moment}`
    const limit = limitOf("five", key)
    const ids = Array.from({ length: 6 }, (_, at) => `${key}-${at}`)
    // One instance is at work meanwhile, because the alarm empties an unused key, which then gets no message.
    inside.closed.add(key)
    await client.start("five", { id: ids[0]!, input: { key } })
    await crowded(key, 1, ids)
    const die = deathAt({ method: "limitsChanged", target: limit, moment })
    const setting = client.limits.set("five", { concurrency: 2 }).catch(() => undefined)
    onTestFinished(() => client.limits.reset("five"))
    await die()
    await setting
    await runDurableObjectAlarm(stubOf("@limit-settings:five"))
    for (const id of ids.slice(1)) await client.start("five", { id, input: { key } })
    await crowded(key, 2, ids)
    inside.closed.delete(key)
    for (const id of ids) expect(await settled(client.get(id), [limit, ...ids])).toBe("completed")
    expect(inside.most.get(key)).toBe(2)
  })

  it("start one instance for a due time", async () => {
    const id = `due-${moment}`
    const schedule = `@schedule:${id}`
    const die = deathAt({ method: "peerCreate", target: `${id}:`, moment })
    await client.schedules.create(id, { workflow: "child", every: "1h", startAt: Date.now() + 300, input: { waits: false } })
    await die()
    const started = await soon(async () => {
      await runDurableObjectAlarm(stubOf(schedule))
      const [first] = (await client.schedules.get(id).describe()).recent
      await client.get(first?.id ?? "").status()
      return first?.id ?? ""
    })
    expect(await settled(client.get(started), [schedule, started])).toBe("completed")
    for (let time = 0; time < 3; time++) await runDurableObjectAlarm(stubOf(schedule))
    expect((await client.schedules.get(id).describe()).counts.started).toBe(1)
    expect([await entries(started, "run.started"), runs.get(`${started}/work`)]).toEqual([1, 1])
    // The index follows with a small delay.
    const listed = async () => (await client.list({ idPrefix: `${id}:` })).instances.map((instance) => `${instance.id} ${instance.status}`)
    await soon(async () => expect(await listed()).toEqual([`${started} completed`]))
    await client.schedules.get(id).delete()
  })

  it("tell a schedule of the end that it waits for", async () => {
    const id = `ended-${moment}`
    const schedule = `@schedule:${id}`
    await client.schedules.create(id, { workflow: "child", every: "300ms", overlap: "queue", input: { waits: true } })
    const recent = async () => (await client.schedules.get(id).describe()).recent.map((firing) => firing.id)
    await until("an instance is started", async () => (await recent()).length > 0)
    const [first = ""] = await recent()
    const die = deathAt({ method: "scheduleHint", target: schedule, moment })
    await client.get(first).sendEvent("go")
    await die()
    await until("the next is started", async () => {
      for (const name of [first, schedule]) await runDurableObjectAlarm(stubOf(name))
      return (await recent()).length >= 2
    })
    expect(await client.get(first).status()).toBe("completed")
    expect(new Set(await recent()).size).toBeGreaterThanOrEqual(2)
    expect(await entries(first, "run.started")).toBe(1)
    await client.schedules.get(id).delete()
  })
})

it("a burst on a key with limit 5 never exceeds it, although everything dies again and again", async () => {
  const key = "burst"
  const limit = limitOf("five", key)
  const ids = Array.from({ length: 20 }, (_, at) => `burst-${at}`)
  const alarms = () => Promise.all([limit, ...ids].map((name) => runDurableObjectAlarm(stubOf(name))))
  const startAll = () => Promise.all(ids.map((id) => client.start("five", { id, input: { key }, ifExists: "return" })))
  inside.closed.add(key)
  const started = Promise.allSettled(ids.map((id) => client.start("five", { id, input: { key } })))
  for (let death = 0; death < 6; death++) {
    // The objects die at random moments, and once when all slots are taken.
    if (death < 3) await pause(20 + Math.random() * 100)
    else await crowded(key, 5, [limit, ...ids])
    await dieAll()
    await alarms()
    // Lost starts are repeated: with fewer than five instances a slot would stay free.
    if (death === 2) await started.then(() => soon(startAll))
  }
  inside.closed.delete(key)
  await alarms()
  for (const id of ids) expect(await settled(client.get(id), [limit, id])).toBe("completed")
  await given(limit, ids)
  expect(inside.most.get(key)).toBe(5)
})
