// workerd is killed with SIGKILL again and again while instances run, and started again on the same folder.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { bundledWorker, WorkerdProcess } from "./workerd-process.ts"

const long = process.env["LONG"] === "1"
const kills = long ? 25 : 3
const instances = 100
const sleepMs = 1_500

let script: string
let running: WorkerdProcess | undefined
const folder = mkdtempSync(join(tmpdir(), "perdure-workerd-"))

beforeAll(async () => {
  script = await bundledWorker()
})
afterEach(() => running?.stop())
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

interface Answer {
  readonly status: string
  readonly result?: number
  readonly types: readonly string[]
}

describe("workerd killed at random moments while 100 instances run", () => {
  it("loses nothing that was acknowledged, and each instance ends right, woken by its alarm", { timeout: long ? 900_000 : 240_000 }, async () => {
    const told = new Map<string, number>()
    const onTold = (instance: string, step: string) => told.set(`${instance}/${step}`, (told.get(`${instance}/${step}`) ?? 0) + 1)
    const workerd = new WorkerdProcess({ script, folder, onTold })
    running = workerd
    await workerd.start()
    const acknowledged = new Set<string>()
    const ids = Array.from({ length: instances }, (_, n) => `i${n}`)
    let isOver = false
    // A caller starts all instances, and repeats each start until it gets a response.
    const starting = (async () => {
      for (const [n, id] of ids.entries()) {
        while (!isOver && (await workerd.get(`/start?id=${id}&n=${n}&sleepMs=${sleepMs}`)) === undefined) await pause(20)
        acknowledged.add(id)
      }
    })()
    for (let kill = 0; kill < kills; kill++) {
      await pause(100 + Math.random() * 900)
      await workerd.kill()
      await workerd.start()
    }
    await starting
    isOver = true
    expect(acknowledged.size).toBe(instances)
    // From here on there are no calls: alarms wake the objects.
    const isDone = () => ids.every((id) => told.has(`${id}/last`))
    for (let waited = 0; waited < 120_000 && !isDone(); waited += 100) await pause(100)
    expect(ids.filter((id) => !told.has(`${id}/last`))).toEqual([])
    for (const [n, id] of ids.entries()) {
      let answer = (await workerd.get(`/?id=${id}`)) as Answer
      for (let tries = 0; tries < 100 && answer.status !== "completed"; tries++) {
        await pause(50)
        answer = (await workerd.get(`/?id=${id}`)) as Answer
      }
      expect(answer).toMatchObject({ status: "completed", result: 4 * n + 6 + n * 10 })
      const count = (type: string) => answer.types.filter((one) => one === type).length
      // Four own steps, the start of its child, and the last step.
      expect([id, count("run.started"), count("step.completed"), count("child.ended"), count("run.completed")]).toEqual([id, 1, 6, 1, 1])
      expect(((await workerd.get(`/?id=${id}-child`)) as Answer).status).toBe("completed")
    }
    let counts: unknown
    for (let tries = 0; tries < 100; tries++) {
      counts = [await workerd.get("/list?workflow=chain"), await workerd.get("/list?workflow=leaf")]
      if ((counts as { completed?: number }[]).every((one) => one.completed === instances)) break
      await pause(200)
    }
    expect(counts).toEqual([{ completed: instances }, { completed: instances }])
    const again = [...told.values()].filter((times) => times > 1).length
    console.log(`${kills} kills; ${again} steps of ${instances * 6} were cut off and done again`)
  })
})

describe("workerd killed at random moments while instances wait for slots and a schedule fires", () => {
  // test/workerd/deaths.test.ts has a short form of this test, without real processes.
  it.runIf(long)(
    "a key with limit 5 is never exceeded, each comes to its turn, and each due time starts one",
    { timeout: long ? 900_000 : 240_000 },
    async () => {
      const inside = new Set<string>()
      const fired = new Map<string, number>()
      let most = 0
      const onTold = (instance: string, step: string, isDead: boolean) => {
        if (step === "fired") fired.set(instance, (fired.get(instance) ?? 0) + 1)
        if (isDead) return
        if (step === "enter") inside.add(instance)
        if (step === "leave") inside.delete(instance)
        most = Math.max(most, inside.size)
      }
      const workerd = new WorkerdProcess({ script, folder, onTold })
      running = workerd
      await workerd.start()
      const insist = async <T>(path: string): Promise<T> => {
        for (;;) {
          const answer = await workerd.get(path)
          if (answer !== undefined) return answer as T
          await pause(20)
        }
      }
      await insist("/schedule?id=ticking")
      const ids = Array.from({ length: long ? 200 : 60 }, (_, n) => `l${n}`)
      const starting = Promise.all(ids.map((id) => insist(`/start-limited?id=${id}`)))
      for (let kill = 0; kill < kills; kill++) {
        await pause(100 + Math.random() * 900)
        const killed = workerd.kill()
        inside.clear()
        await killed
        await workerd.start()
      }
      await starting
      const { started, recent } = await insist<{ started: number; recent: readonly string[] }>("/pause-schedule?id=ticking")
      expect(started).toBeGreaterThan(0)
      let counts: unknown
      let scheduled: Record<string, string> = {}
      // There are no calls to these instances: alarms wake them.
      for (let tries = 0; tries < 600; tries++) {
        counts = await insist("/list?workflow=limited")
        scheduled = await insist("/scheduled")
        const statuses = Object.values(scheduled)
        const isOver = statuses.length === started && statuses.every((status) => status === "completed")
        if (isOver && (counts as { completed?: number }).completed === ids.length) break
        await pause(200)
      }
      expect(counts).toEqual({ completed: ids.length })
      expect(most).toBeLessThanOrEqual(5)
      expect(most).toBeGreaterThan(1)
      expect(Object.keys(scheduled)).toHaveLength(started)
      expect(new Set(Object.values(scheduled))).toEqual(new Set(["completed"]))
      for (const id of recent) expect(scheduled[id]).toBe("completed")
      expect(new Set(fired.keys())).toEqual(new Set(Object.keys(scheduled)))
    },
  )
})
