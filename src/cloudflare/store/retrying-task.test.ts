import { setImmediate as macrotask } from "node:timers/promises"
import { expect, it } from "vitest"
import { RetryingTask } from "./retrying-task.ts"

/** Runs jobs one after another in a RetryingTask, and records what is logged. */
class JobRunner {
  now = 1_000
  jobs: string[] = []
  readonly done: string[] = []
  readonly logged: string[] = []
  /** The number of further calls that fail. */
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
  const runner = new JobRunner()
  runner.jobs = ["a"]
  runner.onJobDone = () => {
    runner.onJobDone = () => undefined
    void (async () => {
      for (let n = 0; n < microtasks; n++) await Promise.resolve()
      runner.jobs.push("b")
      runner.send()
    })()
  }
  runner.send()
  await macrotask()
  expect([runner.done, runner.task.retryAt]).toEqual([["a", "b"], undefined])
})

it("what fails is left to the alarm, each time for twice as long, and is done in the end", async () => {
  const runner = new JobRunner()
  runner.jobs = ["a"]
  runner.failing = 3
  const waits = []
  runner.send()
  for (let tries = 0; tries < 3; tries++) {
    await macrotask()
    waits.push((runner.task.retryAt ?? 0) - runner.now)
    runner.send()
    runner.now = runner.task.retryAt ?? 0
    runner.send(true)
  }
  await macrotask()
  expect(waits).toEqual([200, 400, 800])
  expect([runner.done, runner.task.retryAt]).toEqual([["a"], undefined])
  expect(runner.logged).toEqual(Array(3).fill("nobody answers; trying again"))
})

it("a failure is forgotten with what failed: what comes later is done at once", async () => {
  const runner = new JobRunner()
  runner.jobs = ["a"]
  runner.failing = 1
  runner.send()
  await macrotask()
  runner.jobs = []
  runner.send(true)
  expect(runner.task.retryAt).toBeUndefined()
  runner.jobs = ["b"]
  runner.send()
  await macrotask()
  expect(runner.done).toEqual(["b"])
})

it("an alarm stands by while it is under way, and one that goes off meanwhile stands by anew", async () => {
  const runner = new JobRunner()
  runner.jobs = ["a"]
  runner.send()
  expect(runner.task.retryAt).toBe(11_000)
  runner.now = 11_000
  runner.send(true)
  expect(runner.task.retryAt).toBe(21_000)
  await macrotask()
  expect([runner.done, runner.task.retryAt]).toEqual([["a"], undefined])
})

it("a failure of what follows is logged and no unhandled rejection, and the alarm makes up for it", async () => {
  const runner = new JobRunner()
  let follows = 0
  runner.onDone = () => {
    if (++follows === 1) throw new Error("the alarm could not be set")
  }
  runner.jobs = ["a"]
  runner.send()
  await macrotask()
  expect(runner.logged).toEqual(["a follow-up failed"])
  expect([runner.done, runner.task.retryAt]).toEqual([["a"], 11_000])
  runner.now = 11_000
  runner.send(true)
  expect(runner.task.retryAt).toBeUndefined()
  runner.jobs = ["b"]
  runner.send()
  await macrotask()
  expect([runner.done, follows]).toEqual([["a", "b"], 2])
})

it("who waits for its end need not know whether it failed", async () => {
  const runner = new JobRunner()
  runner.jobs = ["a"]
  runner.failing = 1
  runner.send()
  await runner.task.settled
  expect(runner.logged).toEqual(["nobody answers; trying again"])
})
