// The introspection of `cloudflare:test` on the test engine, with virtual time.

import { NonRetryableError, WorkflowEntrypoint, type WorkflowEvent, type WorkflowSources, type WorkflowStep } from "perdure/cloudflare-workflows"
import { sqlite } from "perdure/sqlite"
import { createWorkflowsTestEngine, introspectWorkflow, introspectWorkflowInstance, memory } from "perdure/testing"
import { afterEach, describe, expect, it } from "vitest"

const day = 86_400_000
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const calls: string[] = []

class Order extends WorkflowEntrypoint<unknown, { amount?: number }> {
  async run({ payload }: WorkflowEvent<{ amount?: number }>, step: WorkflowStep): Promise<unknown> {
    const charged = await step.do("charge", { retries: { limit: 3, delay: "1 hour", backoff: "constant" } }, async ({ attempt }) => {
      calls.push(`charge ${attempt}`)
      return `charged ${payload.amount ?? 0}`
    })
    await step.sleep("cool off", "30 days")
    await step.sleep("cool off", "1 day")
    const approval = await step
      .waitForEvent<{ by: string }>("approval", { type: "approved", timeout: "2 days" })
      .then(({ payload: { by } }) => by)
      .catch((error: Error) => `${error.name}: ${error.message}`)
    return { charged, approval }
  }
}

class Greeting extends WorkflowEntrypoint {
  async run(_: unknown, step: WorkflowStep): Promise<unknown> {
    const words = []
    for (let count = 0; count < 3; count++) words.push(await step.do("say", async () => `hello ${count}`))
    return words
  }
}

class Failing extends WorkflowEntrypoint {
  async run(_: unknown, step: WorkflowStep): Promise<unknown> {
    return step.do("fail", async () => {
      throw new NonRetryableError("no stock", "OutOfStock")
    })
  }
}

class Parent extends WorkflowEntrypoint<{ GREETING: { create(options: object): Promise<unknown> } }> {
  async run(_: unknown, step: WorkflowStep): Promise<unknown> {
    await step.do("begin", async () => 1)
    await this.env.GREETING.create({ id: "child" })
    return "done"
  }
}

const sources = { ORDER: Order, GREETING: Greeting, FAILING: Failing, PARENT: Parent } satisfies WorkflowSources

const stores = { memory: () => memory(), SQLite: () => sqlite(":memory:") }

describe.each(Object.entries(stores))("on %s", (_, store) => {
  async function open() {
    calls.length = 0
    const test = await createWorkflowsTestEngine({ workflows: sources, store: store() })
    closing.push(() => test.close())
    return test
  }

  it("waits pass virtual time: a sleep of 30 days and the timeout of an event", async () => {
    const { env, engine } = await open()
    const startedAt = engine.now()
    await using instance = await introspectWorkflowInstance(env.ORDER, "a")
    await env.ORDER.create({ id: "a", params: { amount: 7 } })
    expect(await instance.waitForStepResult({ name: "charge" })).toBe("charged 7")
    expect(engine.now()).toBe(startedAt)
    await instance.waitForStatus("complete")
    expect(await instance.getOutput()).toEqual({ charged: "charged 7", approval: "WorkflowTimeoutError: Execution timed out after 172800000ms" })
    expect(engine.now()).toBe(startedAt + 33 * day)
  })

  it("modifies an instance before it exists: sleeps, steps and events take no time", async () => {
    const { env, engine } = await open()
    const startedAt = engine.now()
    await using instance = await introspectWorkflowInstance(env.ORDER, "a")
    const same = await instance.modify(async (m) => {
      await m.disableSleeps()
      await m.mockStepResult({ name: "charge" }, "mocked")
      await m.mockEvent({ type: "approved", payload: { by: "Ada" } })
    })
    expect(same).toBe(instance)
    const created = await env.ORDER.create({ id: "a" })
    await instance.waitForStatus("complete")
    expect(await instance.getOutput()).toEqual({ charged: "mocked", approval: "Ada" })
    expect([engine.now(), calls]).toEqual([startedAt, []])
    await created.restart()
    await instance.waitForStatus("complete")
    expect(await instance.getOutput()).toEqual({ charged: "mocked", approval: "Ada" })
  })

  it("disables the sleep that is named, the first of its name or the index-th", async () => {
    const { env, engine } = await open()
    const startedAt = engine.now()
    const took: number[] = []
    for (const [id, steps] of [
      ["a", [{ name: "cool off" }]],
      ["b", [{ name: "cool off", index: 2 }, { name: "other" }]],
    ] as const) {
      const before = engine.now()
      await using instance = await introspectWorkflowInstance(env.ORDER, id)
      await instance.modify(async (m) => {
        await m.disableSleeps([...steps])
        await m.mockEvent({ type: "approved", payload: { by: "Ada" } })
      })
      await env.ORDER.create({ id })
      await instance.waitForStatus("complete")
      took.push((engine.now() - before) / day)
    }
    expect(took).toEqual([1, 30])
    expect(engine.now()).toBe(startedAt + 31 * day)
  })

  it("mocks errors and timeouts of so many attempts, then the result; retry delays can be disabled", async () => {
    const { env, engine } = await open()
    const startedAt = engine.now()
    await using instance = await introspectWorkflowInstance(env.ORDER, "a")
    await instance.modify(async (m) => {
      await m.mockStepError({ name: "charge" }, new RangeError("declined"), 1)
      await m.forceStepTimeout({ name: "charge" }, 2)
      await m.mockStepResult({ name: "charge" }, "at last")
      await m.disableRetryDelays([{ name: "charge" }])
      await expect(m.mockStepResult({ name: "charge" }, "again")).rejects.toThrow('the result of step "charge" is mocked already')
      await expect(m.mockStepError({ name: "charge" }, new Error("late"))).rejects.toThrow("mock its errors and timeouts before")
      await expect(m.forceStepTimeout({ name: "charge" })).rejects.toThrow("mock its errors and timeouts before")
    })
    const created = await env.ORDER.create({ id: "a" })
    expect(await instance.waitForStepResult({ name: "charge", index: 1 })).toBe("at last")
    expect([engine.now(), calls]).toEqual([startedAt, []])
    const errors: unknown[] = []
    for await (const event of await created.subscribe({ filter: ["attempt_errored", "step_completed"] })) {
      if (event.type === "step_completed") break
      if (event.type === "attempt_errored") errors.push(event.error)
    }
    const timeout = { name: "WorkflowTimeoutError", message: "Execution timed out after 600000ms" }
    expect(errors).toEqual([{ name: "RangeError", message: "declined" }, timeout, timeout])
  })

  it("an error that every attempt gets fails the step, and the wait for its result", async () => {
    const { env } = await open()
    await using instance = await introspectWorkflowInstance(env.ORDER, "a")
    await instance.modify((m) => m.mockStepError({ name: "charge" }, new RangeError("declined")))
    await env.ORDER.create({ id: "a" })
    await expect(instance.waitForStepResult({ name: "charge" })).rejects.toMatchObject({ name: "RangeError", message: "declined" })
    await instance.waitForStatus("errored")
    expect(await instance.getError()).toEqual({ name: "RangeError", message: "declined" })
    await expect(instance.getOutput()).rejects.toThrow('Workflow instance "a" is "errored"; only an instance that is "complete" has an output')
    expect(calls).toEqual([])
  })

  it("a step that is made to time out fails with the timeout of its config", async () => {
    const { env, engine } = await open()
    await using instance = await introspectWorkflowInstance(env.ORDER, "a")
    const startedAt = engine.now()
    await instance.modify((m) => m.forceStepTimeout({ name: "charge" }))
    await env.ORDER.create({ id: "a" })
    await instance.waitForStatus("errored")
    expect(await instance.getError()).toEqual({ name: "WorkflowTimeoutError", message: "Execution timed out after 600000ms" })
    expect(engine.now()).toBe(startedAt + 3 * 3_600_000)
  })

  it("a mocked stream comes back as a stream", async () => {
    const { env } = await open()
    await using instance = await introspectWorkflowInstance(env.GREETING, "a")
    await instance.modify((m) => m.mockStepResult({ name: "say" }, new Response("streamed").body))
    await env.GREETING.create({ id: "a" })
    expect(await new Response((await instance.waitForStepResult({ name: "say" })) as ReadableStream).text()).toBe("streamed")
  })

  it("mocks the index-th step of a name, and leaves others and other instances alone", async () => {
    const { env } = await open()
    await using instance = await introspectWorkflowInstance(env.GREETING, "a")
    await using other = await introspectWorkflowInstance(env.GREETING, "b")
    await instance.modify((m) => m.mockStepResult({ name: "say", index: 2 }, "mocked"))
    await env.GREETING.createBatch({ instances: [{ id: "a" }, { id: "b" }] })
    expect(await instance.waitForStepResult({ name: "say", index: 3 })).toBe("hello 2")
    await Promise.all([instance.waitForStatus("complete"), other.waitForStatus("complete")])
    expect([await instance.getOutput(), await other.getOutput()]).toEqual([
      ["hello 0", "mocked", "hello 2"],
      ["hello 0", "hello 1", "hello 2"],
    ])
  })

  it("forces the timeout of a wait, although its event is there", async () => {
    const { env } = await open()
    await using instance = await introspectWorkflowInstance(env.ORDER, "a")
    await instance.modify(async (m) => {
      await m.disableSleeps([{ name: "cool off", index: 2 }])
      await m.mockEvent({ type: "approved", payload: { by: "Ada" } })
      await m.forceEventTimeout({ name: "approval" })
    })
    await env.ORDER.create({ id: "a" })
    await instance.waitForStatus("complete")
    expect(await instance.getOutput()).toMatchObject({ approval: "WorkflowTimeoutError: Execution timed out after 172800000ms" })
  })

  it("rejects a wait for a status when the instance ends with another, and for a step that was never asked for", async () => {
    const { env } = await open()
    await using instance = await introspectWorkflowInstance(env.FAILING, "a")
    await env.FAILING.create({ id: "a" })
    const ended = 'Workflow instance "a" is "errored" (OutOfStock: no stock), so'
    await expect(instance.waitForStatus("complete")).rejects.toThrow(`${ended} it can never be "complete"`)
    await expect(instance.waitForStatus("waiting")).rejects.toThrow(`${ended} it can never be "waiting"`)
    await expect(instance.waitForStepResult({ name: "other" })).rejects.toThrow(`${ended} step "other" (1) has no result`)
    await expect(instance.waitForStatus("queued")).resolves.toBeUndefined()
  })

  it("takes an instance that sleeps or waits as running, as tests for Cloudflare's local engine do", async () => {
    const { env, engine } = await open()
    const startedAt = engine.now()
    await using instance = await introspectWorkflowInstance(env.ORDER, "a")
    await env.ORDER.create({ id: "a" })
    await instance.waitForStatus("running")
    await instance.waitForStatus("waiting")
    expect(engine.now()).toBe(startedAt)
  })

  it("says why an instance does not get on when only time passes", async () => {
    const { env } = await open()
    await using instance = await introspectWorkflowInstance(env.ORDER, "a")
    const created = await env.ORDER.create({ id: "a" })
    await instance.waitForStatus("waiting")
    await created.pause()
    await instance.waitForStatus("paused")
    await expect(instance.waitForStatus("complete")).rejects.toMatchObject({
      code: "NOTHING_MOVES",
      message: expect.stringMatching(/^Workflow instance "a" does not come to what the test waits for when only time passes: .*paused/) as string,
    })
  })

  it("waits for an instance that is created while the wait is on, and says so if there is none", async () => {
    const { env, engine } = await open()
    const startedAt = engine.now()
    await using instance = await introspectWorkflowInstance(env.GREETING, "a")
    const complete = instance.waitForStatus("complete")
    await env.GREETING.create({ id: "a" })
    await complete
    const nobody = await introspectWorkflowInstance(env.GREETING, "nobody")
    await expect(nobody.waitForStatus("complete")).rejects.toMatchObject({ code: "NOT_FOUND" })
    await nobody.dispose()
    expect(engine.now()).toBe(startedAt)
  })

  it("disposal ends the changes and deletes the instance, so that the next test may use its id", async () => {
    const { env } = await open()
    {
      await using instance = await introspectWorkflowInstance(env.GREETING, "a")
      await instance.modify((m) => m.mockStepResult({ name: "say" }, "mocked"))
      await env.GREETING.create({ id: "a" })
      await instance.waitForStatus("complete")
    }
    await expect(env.GREETING.get("a")).rejects.toThrow("instance.not_found")
    await using instance = await introspectWorkflowInstance(env.GREETING, "a")
    await env.GREETING.create({ id: "a" })
    await instance.waitForStatus("complete")
    expect(await instance.getOutput()).toEqual(["hello 0", "hello 1", "hello 2"])
  })

  it("introspects all instances that are created from now on, also by a parent", async () => {
    const { env } = await open()
    await env.GREETING.create({ id: "before" })
    await using earlier = await introspectWorkflowInstance(env.GREETING, "before")
    await earlier.waitForStatus("complete")
    {
      await using introspector = await introspectWorkflow(env.GREETING)
      await introspector.modifyAll((m) => m.mockStepResult({ name: "say" }, "mocked"))
      await expect(introspectWorkflow(env.GREETING)).rejects.toMatchObject({ code: "BAD_OPTION" })
      await env.GREETING.create()
      await env.PARENT.create({ id: "p" })
      await using parent = await introspectWorkflowInstance(env.PARENT, "p")
      await parent.waitForStatus("complete")
      const instances = await introspector.get()
      expect(instances).toHaveLength(2)
      expect(await introspector.get()).toEqual(instances)
      for (const instance of instances) {
        await instance.waitForStatus("complete")
        expect(await instance.getOutput()).toEqual(["mocked", "hello 1", "hello 2"])
      }
    }
    await expect(env.GREETING.get("child")).rejects.toThrow("instance.not_found")
    expect(await earlier.getOutput()).toEqual(["hello 0", "hello 1", "hello 2"])
    await using again = await introspectWorkflow(env.GREETING)
    expect(await again.get()).toEqual([])
  })

  it("events of modifyAll reach each instance, and an instance goes on after a crash with its changes", async () => {
    const { env, engine } = await open()
    await using introspector = await introspectWorkflow(env.ORDER)
    await introspector.modifyAll(async (m) => {
      await m.mockStepResult({ name: "charge" }, "mocked")
      await m.mockEvent({ type: "approved", payload: { by: "Ada" } })
    })
    await env.ORDER.create({ id: "a" })
    await env.ORDER.create({ id: "b" })
    await engine.skip("1d")
    await engine.crash()
    for (const instance of await introspector.get()) {
      await instance.waitForStatus("complete")
      expect(await instance.getOutput()).toEqual({ charged: "mocked", approval: "Ada" })
    }
  })
})

it("refuses a binding of no test engine, and an empty id", async () => {
  await using test = await createWorkflowsTestEngine({ workflows: sources })
  const stranger = { get: async (id: string) => ({ id }) }
  for (const introspect of [
    () => introspectWorkflow(stranger),
    () => introspectWorkflowInstance(stranger, "a"),
    () => introspectWorkflowInstance(test.env.ORDER, ""),
  ])
    await expect(introspect()).rejects.toMatchObject({ code: "BAD_OPTION" })
})

it("gives the classes their env, the time at which it opens, and the schedules of the options", async () => {
  class Clock extends WorkflowEntrypoint<{ ZONE: string }> {
    async run({ timestamp, schedule }: WorkflowEvent<unknown>): Promise<unknown> {
      return [this.env.ZONE, timestamp.toISOString(), schedule?.cron]
    }
  }
  await using test = await createWorkflowsTestEngine({
    workflows: { CLOCK: { class: Clock, schedules: "0 6 * * *" } },
    env: { ZONE: "UTC" },
    startAt: new Date("2030-01-01T00:00:00Z"),
  })
  expect(test.env.ZONE).toBe("UTC")
  await using introspector = await introspectWorkflow(test.env.CLOCK)
  await test.engine.skip("7h")
  const [instance] = await introspector.get()
  expect(await instance?.getOutput()).toEqual(["UTC", "2030-01-01T06:00:00.000Z", "0 6 * * *"])
})
