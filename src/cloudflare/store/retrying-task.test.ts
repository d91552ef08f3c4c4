import { setImmediate as macrotask } from "node:timers/promises"
import { expect, it } from "vitest"
import { RetryingTask } from "./retrying-task.ts"

/** Jobs that are done one after another, by whoever comes first; what is logged. */
class Desk {
  now = 1_000
  jobs: string[] = []
  readonly done: string[] = []
  readonly logged: string[] = []
  /** How many calls fail. */
  failing = 0
  onDone: () => void = () => undefined
  onJobDone: () => void = () => undefined
  readonly task = new RetryingTask({
    now: () => this.now,
    log: { debug() {}, info() {}, warn: (message) => void this.logged.push(message), error: (message) => void this.logged.push(message) },
    retryMs: 200,
    failure: "nobody answers",
  })

  send(isRetry = false): void {
    if (!this.task.tryStart(isRetry)) return
    if (this.jobs.length === 0) return this.task.idleUntil()
    this.task.begin(
      () => this.#run(),
      () => this.send(),
      () => this.onDone(),
    )
  }

  async #run(): Promise<undefined> {
    for (let job = this.jobs[0]; job !== undefined; job = this.jobs[0]) {
      await Promise.resolve()
      if (this.failing > 0) {
        this.failing--
        throw new Error("no")
      }
      this.jobs.shift()
      this.done.push(job)
      this.onJobDone()
    }
  }
}

it.each(Array.from({ length: 10 }, (_, microtasks) => microtasks))("what comes %i microtasks after the last job is done, too", async (microtasks) => {
  const desk = new Desk()
  desk.jobs = ["a"]
  desk.onJobDone = () => {
    desk.onJobDone = () => undefined
    void (async () => {
      for (let n = 0; n < microtasks; n++) await Promise.resolve()
      desk.jobs.push("b")
      desk.send()
    })()
  }
  desk.send()
  await macrotask()
  expect([desk.done, desk.task.retryAt]).toEqual([["a", "b"], undefined])
})

it("what fails is left to the alarm, each time for twice as long, and is done in the end", async () => {
  const desk = new Desk()
  desk.jobs = ["a"]
  desk.failing = 3
  const waits = []
  desk.send()
  for (let tries = 0; tries < 3; tries++) {
    await macrotask()
    waits.push((desk.task.retryAt ?? 0) - desk.now)
    desk.send()
    desk.now = desk.task.retryAt ?? 0
    desk.send(true)
  }
  await macrotask()
  expect(waits).toEqual([200, 400, 800])
  expect([desk.done, desk.task.retryAt]).toEqual([["a"], undefined])
  expect(desk.logged).toEqual(Array(3).fill("nobody answers; trying again"))
})

it("a failure is forgotten with what failed: what comes later is done at once", async () => {
  const desk = new Desk()
  desk.jobs = ["a"]
  desk.failing = 1
  desk.send()
  await macrotask()
  desk.jobs = []
  desk.send(true)
  expect(desk.task.retryAt).toBeUndefined()
  desk.jobs = ["b"]
  desk.send()
  await macrotask()
  expect(desk.done).toEqual(["b"])
})

it("an alarm stands by while it is under way, and one that goes off meanwhile stands by anew", async () => {
  const desk = new Desk()
  desk.jobs = ["a"]
  desk.send()
  expect(desk.task.retryAt).toBe(11_000)
  desk.now = 11_000
  desk.send(true)
  expect(desk.task.retryAt).toBe(21_000)
  await macrotask()
  expect([desk.done, desk.task.retryAt]).toEqual([["a"], undefined])
})

it("a failure of what follows is logged and no unhandled rejection, and the alarm makes up for it", async () => {
  const desk = new Desk()
  let follows = 0
  desk.onDone = () => {
    if (++follows === 1) throw new Error("the alarm could not be set")
  }
  desk.jobs = ["a"]
  desk.send()
  await macrotask()
  expect(desk.logged).toEqual(["a follow-up failed"])
  expect([desk.done, desk.task.retryAt]).toEqual([["a"], 11_000])
  desk.now = 11_000
  desk.send(true)
  expect(desk.task.retryAt).toBeUndefined()
  desk.jobs = ["b"]
  desk.send()
  await macrotask()
  expect([desk.done, follows]).toEqual([["a", "b"], 2])
})

it("who waits for its end need not know whether it failed", async () => {
  const desk = new Desk()
  desk.jobs = ["a"]
  desk.failing = 1
  desk.send()
  await desk.task.settled
  expect(desk.logged).toEqual(["nobody answers; trying again"])
})
