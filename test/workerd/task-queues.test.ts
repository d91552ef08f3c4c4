// Activities that run in the objects of their instances, and activities that wait in the objects of task queues for other processes.

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test"
import { type ActivityOptions, type ClaimedActivity, defineActivity, type Handle } from "perdure"
import { createWorkflowRunner } from "perdure/cloudflare"
import { describe, expect, it } from "vitest"

import { client, deathAt, dieAll, entries, moments, settled, stubOf } from "./deaths.ts"
import { askTaskQueue } from "../../src/cloudflare/objects/ask-task-queue.ts"
import { soon, until } from "./eventually.ts"
import { network, seen } from "./faulty-runner.ts"

const nameOf = (queue: string) => `@task-queue:${queue}`
const offer = { worker: "w", activities: ["weld"], max: 10 }
const claim = (queue: string) => client.tasks.claim(queue, offer)
const claimOne = async (queue: string, max = 10) => {
  const [task] = await client.tasks.claim(queue, { ...offer, max, wait: "20s" })
  if (task === undefined) throw new Error(`nothing waits in ${queue}`)
  return task
}
const complete = (task: ClaimedActivity, value: unknown) => client.tasks.complete(task, value)
const expectStale = async (...tasks: readonly ClaimedActivity[]) => {
  for (const task of tasks) {
    await expect(complete(task, "late")).rejects.toMatchObject({ code: "STALE_TASK", details: { task: task.id } })
    await expect(client.tasks.heartbeat(task)).rejects.toMatchObject({ code: "STALE_TASK" })
  }
}
/** How many tasks wait in a queue, and how many are claimed. */
const depth = async (queue: string) => {
  const info = (await client.queues()).find((one) => one.queue === queue)
  return [info?.waiting ?? 0, info?.claimed ?? 0]
}
/** Makes the workers of a queue silent: `lease_until` for their lease, `heartbeat_at` for the heartbeats of their activities. */
const silence = async (queue: string, column: "lease_until" | "heartbeat_at" = "lease_until") => {
  await runInDurableObject(stubOf(nameOf(queue)), (_, { storage }) => void storage.sql.exec(`UPDATE perdure_task SET ${column} = 1 WHERE token IS NOT NULL`))
  await runDurableObjectAlarm(stubOf(nameOf(queue)))
}
const start = (id: string, options: ActivityOptions = {}): Promise<Handle> => client.start("remote", { id, input: { taskQueue: id, ...options } })

/** How many rows a table of the object has. */
const rows = (name: string, table: string) =>
  runInDurableObject(stubOf(name), (_, { storage }) => {
    const isThere = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = ?", table).toArray().length > 0
    return isThere ? storage.sql.exec(`SELECT 1 FROM ${table}`).toArray().length : 0
  })

describe("an activity that the runner has", () => {
  const startLocal = (id: string, options: ActivityOptions) => client.start("local", { id, input: options })

  it("runs in the object if the runner serves its queue, and otherwise waits for another process", async () => {
    const handle = await startLocal("l-far", { taskQueue: "l-far", input: {} })
    const [task] = await client.tasks.claim("l-far", { worker: "w", activities: ["build"], wait: "20s" })
    expect(task).toMatchObject({ activity: "build", queue: "l-far" })
    await client.tasks.complete(task!, "built elsewhere")
    expect(await handle.result()).toBe("built elsewhere")
    expect(seen.has("l-far")).toBe(false)
    const refused = expect.objectContaining({ code: "BAD_OPTION" }) as Error
    expect(() => createWorkflowRunner({ workflows: [], taskQueues: [] })).toThrow(refused)
    const twice = defineActivity("twice", () => undefined)
    expect(() => createWorkflowRunner({ workflows: [], activities: [twice, twice] })).toThrow(refused)
  })

  it("is tried again with the last heartbeat", async () => {
    const handle = await startLocal("l-retry", {
      taskQueue: "near",
      heartbeatTimeout: "1m",
      input: { fails: 2 },
      retry: { maxAttempts: 3, initialInterval: 1 },
    })
    expect(await handle.result()).toBe("built by l-retry")
    expect(seen.get("l-retry")).toEqual([
      [1, undefined],
      [2, { done: 1 }],
      [3, { done: 2 }],
    ])
    expect(await handle.steps()).toMatchObject([{ id: "build", type: "activity", status: "completed", attempts: 3 }])
  })

  it("ends at its timeout, and when its heartbeat stops", async () => {
    const timed = await startLocal("l-timeout", { timeout: "50ms", input: { hangs: 1 } })
    await expect(timed.result()).rejects.toMatchObject({ cause: { code: "STEP_TIMEOUT" } })
    const silent = await startLocal("l-silent", { heartbeatTimeout: "50ms", input: { hangs: 1 }, retry: { maxAttempts: 2, initialInterval: 1 } })
    expect(await silent.result()).toBe("built by l-silent")
    expect(seen.get("l-silent")).toEqual([
      [1, undefined],
      [2, { done: 1 }],
    ])
  })

  it("is told of a cancel", async () => {
    const handle = await startLocal("l-cancel", { input: { hangs: 1 } })
    await until("the activity runs", () => seen.has("l-cancel"))
    await handle.cancel("enough")
    await soon(async () => expect(await handle.status()).toBe("cancelled"))
  })

  it("begins again when its object has died, which is no failed attempt", async () => {
    const handle = await startLocal("l-death", { input: { hangs: 1 } })
    await until("the activity runs", () => seen.has("l-death"))
    await dieAll()
    expect(await settled(handle, ["l-death"])).toBe("completed")
    expect(seen.get("l-death")?.map((one) => (one as unknown[])[0])).toEqual([1, 2])
  })
})

describe("an activity that the runner has not", () => {
  it("waits in the object of its queue, and its result comes back to an instance that left memory", async () => {
    const handle = await start("q-result")
    const task = await claimOne("q-result")
    expect(task).toMatchObject({ activity: "weld", queue: "q-result", attempt: 1, instance: "q-result", step: "weld", input: "q-result" })
    expect(await claim("q-result")).toEqual([])
    expect(await handle.status()).toBe("waiting")
    expect((await handle.why()).because).toEqual([expect.stringMatching(/^activity "weld" runs on w, begun /)])
    await evictDurableObject(stubOf("q-result"))
    await complete(task, { parts: 3 })
    expect(await handle.result()).toEqual({ parts: 3 })
    expect(await handle.steps()).toMatchObject([{ id: "weld", type: "activity", status: "completed", queue: "q-result", attempts: 1 }])
    await expectStale(task)
    expect(await rows("q-result", "perdure_sent_task")).toBe(0)
    for (const table of ["perdure_task", "perdure_instance", "perdure_outbox"])
      await soon(async () => expect([table, await rows(nameOf("q-result"), table)]).toEqual([table, 0]))
  })

  it("gets input and gives results that are longer than a row", async () => {
    const long = "x".repeat(3_000_000)
    const handles = await Promise.all(["q-long-1", "q-long-2"].map((id) => start(id, { taskQueue: "q-long", input: long })))
    await soon(async () => expect(await depth("q-long")).toEqual([2, 0]))
    // Both do not fit into one answer.
    const tasks = [await claim("q-long"), await claim("q-long")].flat()
    expect(tasks.map(({ input }) => input === long)).toEqual([true, true])
    for (const task of tasks) await complete(task, `${long}${task.instance}`)
    for (const handle of handles) expect(await handle.result()).toBe(`${long}${handle.id}`)
  })

  it("is tried again as the workflow says, and fails with the error of its last attempt", async () => {
    const handle = await start("q-retry", { retry: { maxAttempts: 2, initialInterval: 1 } })
    await client.tasks.fail(await claimOne("q-retry"), new Error("first"))
    const second = await claimOne("q-retry")
    expect(second.attempt).toBe(2)
    await client.tasks.fail(second, Object.assign(new Error("second"), { code: "SECOND" }))
    expect(await handle.result()).toBe("SECOND")
  })

  it("is taken over with the last heartbeat when its heartbeats stop, and a late result is refused", async () => {
    const handle = await start("q-beat", { heartbeatTimeout: "1m" })
    const first = await claimOne("q-beat")
    await client.tasks.heartbeat(first, { details: { at: 7 } })
    await silence("q-beat", "heartbeat_at")
    const second = await claimOne("q-beat")
    expect([second.attempt, second.lastHeartbeat, second.idempotencyKey]).toEqual([2, { at: 7 }, first.idempotencyKey])
    await expectStale(first, { ...second, token: "another" }, { ...second, id: "none" }, { ...second, id: "none~" }, { ...second, id: "none~q-beat" })
    await complete(second, "in time")
    expect(await handle.result()).toBe("in time")
  })

  it("ends when nobody claims it in time, when an attempt takes too long, and when a worker is silent for its lease", async () => {
    const unclaimed = await start("q-start", { scheduleToStartTimeout: "100ms" })
    expect(await unclaimed.result()).toBe("START_TIMEOUT")
    const slow = await start("q-slow", { timeout: "100ms" })
    await claimOne("q-slow")
    expect(await slow.result()).toBe("STEP_TIMEOUT")
    const silent = await start("q-lease")
    const first = await claimOne("q-lease")
    await silence("q-lease")
    await complete(await claimOne("q-lease"), "second")
    expect(await silent.result()).toBe("second")
    await expectStale(first)
  })

  it("ends with a cancel, a termination and a restart of its instance", async () => {
    const cancelled = await start("q-cancel")
    const task = await claimOne("q-cancel")
    await cancelled.cancel("enough")
    await soon(async () => expect(await cancelled.status()).toBe("cancelled"))
    await soon(async () => expect(await depth("q-cancel")).toEqual([0, 0]))
    await expectStale(task)

    const terminated = await start("q-end")
    await soon(async () => expect(await depth("q-end")).toEqual([1, 0]))
    expect((await terminated.why()).because).toEqual(['activity "weld" waits on queue "q-end", which nobody serves'])
    await terminated.terminate("enough")
    await soon(async () => expect(await depth("q-end")).toEqual([0, 0]))

    const restarted = await start("q-again")
    const first = await claimOne("q-again")
    await restarted.restart()
    const second = await claimOne("q-again")
    await expectStale(first)
    await complete(second, "again")
    expect(await restarted.result()).toBe("again")
  })

  it("that is not in its queue begins again, as for a fork", async () => {
    const handle = await start("q-origin")
    await claimOne("q-origin")
    const fork = await handle.fork({ id: "q-fork", from: "weld" })
    const task = await claimOne("q-origin")
    expect(task.instance).toBe("q-fork")
    await complete(task, "forked")
    expect(await fork.result()).toBe("forked")
  })

  it("is in its queue once, although all objects die with waiting and claimed tasks", async () => {
    const ids = ["q-death-1", "q-death-2"]
    const handles = await Promise.all(ids.map((id) => start(id, { taskQueue: "q-death" })))
    const first = await claimOne("q-death", 1)
    await soon(async () => expect(await depth("q-death")).toEqual([1, 1]))
    await dieAll()
    const second = await claimOne("q-death")
    expect(await claim("q-death")).toEqual([])
    for (const task of [first, second]) await complete(task, task.instance)
    expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(ids)
  })

  it("counts no attempt that was given back before anything has run", async () => {
    const handle = await start("q-back")
    const { id, token } = await claimOne("q-back")
    await askTaskQueue(stubOf(nameOf("q-back")) as unknown as Parameters<typeof askTaskQueue>[0], "q-back", "giveBack", [
      { id: id.slice(0, id.indexOf("~")), token },
    ])
    const again = await claimOne("q-back")
    await complete(again, "done")
    expect(await handle.result()).toBe("done")
    const { entries: all } = await handle.history({ limit: 100 })
    expect(all.filter(({ type }) => type === "step.started").map(({ data }) => data["handedBack"])).toEqual([undefined, 1])
  })

  it("has an alarm for the earliest end of its claims, which finds them after the object was gone", async () => {
    const handle = await start("q-alarm", { timeout: "10s" })
    const task = await claimOne("q-alarm")
    const inMs = await runInDurableObject(stubOf(nameOf("q-alarm")), async (_, { storage }) => {
      const [row] = storage.sql.exec("SELECT claimed_at FROM perdure_task").toArray()
      return ((await storage.getAlarm()) ?? 0) - Number(row?.["claimed_at"])
    })
    expect(inMs).toBe(10_000)
    await dieAll()
    await silence("q-alarm")
    const again = await claimOne("q-alarm")
    expect([task.attempt, again.attempt]).toEqual([1, 2])
    await complete(again, "done")
    expect(await handle.result()).toBe("done")
  })

  it("is known to wait although its queue does not have it yet", async () => {
    const strike = async () => {
      throw new Error("the order is lost")
    }
    network.plan = { method: "peerReceive", target: nameOf("q-unsent"), moment: "before", strike }
    const handle = await start("q-unsent")
    await until("the order is lost", () => network.plan === undefined)
    expect((await handle.why()).because).toEqual(['activity "weld" waits on queue "q-unsent", which nobody serves'])
    await runDurableObjectAlarm(stubOf("q-unsent"))
    await complete(await claimOne("q-unsent"), "sent again")
    expect(await handle.result()).toBe("sent again")
  })

  it("goes to a worker that waits, and not to one that has stopped waiting", async () => {
    const controller = new AbortController()
    const gone = client.tasks.claim("q-wait", { ...offer, wait: "1m", signal: controller.signal })
    await soon(async () =>
      expect(await client.queues()).toContainEqual({ queue: "q-wait", waiting: 0, claimed: 0, workers: [{ worker: "w", activities: ["weld"] }] }),
    )
    controller.abort()
    expect(await gone).toEqual([])
    const waiting = claimOne("q-wait")
    const handle = await start("q-wait")
    const task = await waiting
    await complete(task, task.attempt)
    expect(await handle.result()).toBeLessThanOrEqual(2)
  })
})

describe.each(moments)("objects that die %s a call", (moment) => {
  it("put a task into its queue once, and give its ending to the instance once", async () => {
    const id = `q-${moment}`
    const dieAtTask = deathAt({ method: "peerReceive", target: nameOf(id), moment })
    const handle = await start(id)
    await dieAtTask()
    const task = await soon(async () => {
      await runDurableObjectAlarm(stubOf(id))
      const [waiting] = await claim(id)
      if (waiting === undefined) throw new Error("the task is not there yet")
      return waiting
    })
    expect(await claim(id)).toEqual([])
    const dieAtEnding = deathAt({ method: "peerReceive", target: id, moment })
    await complete(task, moment)
    await dieAtEnding()
    expect(await settled(handle, [nameOf(id), id])).toBe("completed")
    expect(await handle.result()).toBe(moment)
    expect([await entries(id, "step.completed"), await entries(id, "message.ignored")]).toEqual([1, 0])
  })

  it("end a task whose instance was terminated before its queue had it", async () => {
    const id = `q-over-${moment}`
    network.down.add(nameOf(id))
    const handle = await start(id)
    await until("the task is sent", () => network.calls.includes(`peerReceive ${nameOf(id)}`))
    await expect(handle.why()).rejects.toMatchObject({ code: "UNREACHABLE", details: { queue: id } })
    await handle.terminate("enough")
    network.down.clear()
    const die = deathAt({ method: "peerReceive", target: nameOf(id), moment })
    void runDurableObjectAlarm(stubOf(id)).catch(() => undefined)
    await die()
    await soon(async () => {
      await runDurableObjectAlarm(stubOf(id))
      expect(await rows(id, "perdure_outbox")).toBe(0)
    })
    expect(await rows(nameOf(id), "perdure_task_sender")).toBe(1)
    expect([await claim(id), await depth(id)]).toEqual([[], [0, 0]])
  })
})

it("queues are listed while they have tasks or workers, also if a shard was down", async () => {
  const shard = "@index:1:0"
  network.down.add(shard)
  await start("q-listed")
  await until("the index is told", () => network.calls.includes(`taskQueueWrite ${shard}`))
  network.down.clear()
  await runDurableObjectAlarm(stubOf(nameOf("q-listed")))
  await soon(async () => expect(await depth("q-listed")).toEqual([1, 0]))
  const all = (await client.queues()).map(({ queue }) => queue)
  expect(all).toEqual(all.toSorted())
})

it("the object of a queue that nobody uses any more is emptied after a day", async () => {
  const handle = await start("q-idle")
  await complete(await claimOne("q-idle"), 1)
  await handle.result()
  const name = nameOf("q-idle")
  await soon(async () => {
    const at = await runInDurableObject(stubOf(name), (_, { storage }) => storage.getAlarm())
    expect((at ?? 0) - Date.now()).toBeGreaterThan(23 * 60 * 60 * 1_000)
  })
  await runDurableObjectAlarm(stubOf(name))
  expect(await rows(name, "perdure_task_sender")).toBe(1)
  await runInDurableObject(stubOf(name), (_, { storage }) => {
    storage.sql.exec("UPDATE perdure_task_sender SET at = 0")
    storage.sql.exec("UPDATE perdure_task_worker SET until = 0")
  })
  const listed = () =>
    runInDurableObject(stubOf("@index:1:0"), (_, { storage }) => storage.sql.exec("SELECT 1 FROM perdure_index_task_queue WHERE queue = 'q-idle'").toArray())
  expect(await listed()).toHaveLength(1)
  await runDurableObjectAlarm(stubOf(name))
  expect(await listed()).toEqual([])
  const tables = await runInDurableObject(stubOf(name), (_, { storage }) =>
    storage.sql.exec("SELECT name FROM sqlite_master WHERE name LIKE 'perdure%'").toArray(),
  )
  expect(tables).toEqual([])
  const again = await start("q-idle-2", { taskQueue: "q-idle" })
  await complete(await claimOne("q-idle"), 2)
  expect(await again.result()).toBe(2)
  expect(await listed()).toHaveLength(1)
})
