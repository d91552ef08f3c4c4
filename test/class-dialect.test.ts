import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { BaseWorkflow, eventSchema, Perdure, type Step, type StoreProvider, workflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { createTestEngine, memory } from "perdure/testing"
import { afterAll, beforeEach, describe, expect, it } from "vitest"

interface Payload {
  readonly name: string
}

interface Result {
  readonly greeting: string
  readonly approved: boolean
}

interface Events {
  readonly approval: { readonly approved: boolean }
  readonly ping: undefined
}

let greeted = 0

class OnboardingWorkflow extends BaseWorkflow<Payload, Result, Events> {
  static readonly type = "onboarding" as const
  static readonly events = { approval: eventSchema<{ approved: boolean }>(), ping: eventSchema() }
  static readonly defaults = { retries: { limit: 2, delay: "500ms", backoff: "exponential" } } as const

  async run(step: Step<Events>, payload: Payload): Promise<Result> {
    const greeting = await step.do("greet", async () => {
      greeted++
      return `Hello, ${payload.name}!`
    })
    await step.sleep("pause", "5s")
    const approval = await step.waitForEvent("approval", { timeout: "1m", default: { approved: false } })
    return { greeting, approved: approval.approved }
  }
}

const attempts: number[] = []

class Failing extends BaseWorkflow<{ readonly limit?: number; readonly delay?: "1s" }, never> {
  static readonly type = "failing" as const
  static readonly defaults = { retries: { limit: 2, delay: "500ms", backoff: "constant" } } as const

  async run(step: Step, { limit, delay }: { readonly limit?: number; readonly delay?: "1s" }): Promise<never> {
    const retries = { ...(limit === undefined ? {} : { limit }), ...(delay === undefined ? {} : { delay }) }
    return step.do<never>("fail", { retries }, ({ attempt }) => {
      attempts.push(attempt)
      throw new Error("no")
    })
  }
}

class Counting extends BaseWorkflow<void, string, { readonly more: undefined }> {
  static readonly type = "counting" as const
  static readonly version = "7"
  #count = 0

  async run(step: Step<{ readonly more: undefined }>): Promise<string> {
    this.ctx.setQueryHandler("count", () => this.#count)
    for (let i = 0; i < 3; i++) {
      await step.waitForEvent("more")
      this.#count++
    }
    return `${this.ctx.instance.workflow} ${this.ctx.instance.version}: ${this.#count}`
  }
}

const parent = workflow("parent", (ctx) => ctx.runChild(OnboardingWorkflow.definition(), { id: "child", input: { name: "Kim" } }))

const workflows = [OnboardingWorkflow, Failing, Counting, parent]
const folder = mkdtempSync(join(tmpdir(), "perdure-classes-"))
afterAll(() => rmSync(folder, { recursive: true }))
beforeEach(() => {
  greeted = 0
  attempts.length = 0
})

let files = 0
const stores: [string, () => StoreProvider][] = [
  ["memory", memory],
  ["SQLite", () => sqlite(join(folder, `${++files}.db`), { durability: "process" })],
]

describe.each(stores)("a class as a workflow, on %s", (_, provide) => {
  it("is started, told and followed by its own typed helpers, across a crash at every suspension", async () => {
    const engine = await createTestEngine({ workflows, store: provide() })
    const handle = await OnboardingWorkflow.create(engine, { id: "o", payload: { name: "Ada" } })
    await engine.settle()
    expect(await OnboardingWorkflow.status(engine, "o")).toBe("sleeping")
    await engine.crash()
    await engine.skip("5s")
    expect(await OnboardingWorkflow.status(engine, "o")).toBe("waiting")
    await engine.crash()
    await expect(engine.get("o").sendEvent("aproval", { approved: true })).rejects.toMatchObject({ code: "UNKNOWN_EVENT", details: { nearest: "approval" } })
    await OnboardingWorkflow.sendEvent(engine, "o", "approval", { approved: true })
    expect(await handle.result()).toEqual({ greeting: "Hello, Ada!", approved: true })
    expect(greeted).toBe(1)
    await engine.close()
  })

  it("is paused, resumed and terminated by them", async () => {
    const engine = await createTestEngine({ workflows, store: provide() })
    await OnboardingWorkflow.create(engine, { id: "o", payload: { name: "Ada" } })
    await engine.settle()
    await OnboardingWorkflow.pause(engine, "o")
    await engine.settle()
    expect(await OnboardingWorkflow.status(engine, "o")).toBe("paused")
    await OnboardingWorkflow.resume(engine, "o")
    await engine.settle()
    expect(await OnboardingWorkflow.status(engine, "o")).toBe("sleeping")
    await OnboardingWorkflow.terminate(engine, "o", "enough")
    await engine.settle()
    expect(await OnboardingWorkflow.status(engine, "o")).toBe("terminated")
    await engine.close()
  })

  it("is paused in the call itself if no worker runs it", async () => {
    const engine = await createTestEngine({ workflows, store: provide() })
    await OnboardingWorkflow.create(engine, { id: "o", payload: { name: "Ada" } })
    await engine.evict("o")
    expect(await OnboardingWorkflow.pause(engine, "o")).toMatchObject({ accepted: true, status: "paused" })
    expect(await OnboardingWorkflow.status(engine, "o")).toBe("paused")
    await engine.close()
  })

  it("a wait that times out gives its default", async () => {
    const engine = await createTestEngine({ workflows, store: provide() })
    const handle = await OnboardingWorkflow.create(engine, { payload: { name: "Ada" } })
    await engine.skip("66s")
    expect(await handle.result()).toEqual({ greeting: "Hello, Ada!", approved: false })
    await engine.close()
  })

  it("the limit of retries is all attempts, by default and of a step; delays are as written", async () => {
    const engine = await createTestEngine({ workflows, store: provide() })
    await Failing.create(engine, { id: "a", payload: {} })
    await engine.settle()
    expect(attempts).toEqual([1])
    await engine.skip(499)
    expect(attempts).toEqual([1])
    await engine.skip(1)
    expect(attempts).toEqual([1, 2])
    expect(await Failing.status(engine, "a")).toBe("failed")
    attempts.length = 0
    await Failing.create(engine, { id: "b", payload: { limit: 3, delay: "1s" } })
    await engine.skip("1999ms")
    expect(attempts).toEqual([1, 2])
    await engine.skip(1)
    expect(attempts).toEqual([1, 2, 3])
    expect(await Failing.status(engine, "b")).toBe("failed")
    await engine.close()
  })

  it("its fields are made anew at each replay, and its context is that of native code", async () => {
    const engine = await createTestEngine({ workflows, store: provide() })
    const handle = await Counting.create(engine, { id: "c" })
    for (let i = 1; i <= 2; i++) {
      await Counting.sendEvent(engine, "c", "more")
      await engine.settle()
      expect(await handle.query("count")).toBe(i)
      await engine.crash()
    }
    await Counting.sendEvent(engine, "c", "more")
    expect(await handle.result()).toBe("counting 7: 3")
    await engine.close()
  })

  it("is a child of native workflows, and other way round its context starts them", async () => {
    const engine = await createTestEngine({ workflows, store: provide() })
    const handle = await engine.start(parent)
    await engine.skip("5s")
    await OnboardingWorkflow.sendEvent(engine, "child", "approval", { approved: true })
    expect(await handle.result()).toEqual({ greeting: "Hello, Kim!", approved: true })
    await engine.close()
  })
})

it("runs in an embedded engine as it is", async () => {
  const engine = await Perdure.open({ store: memory(), workflows: [Counting] })
  const handle = await Counting.create(engine)
  for (let i = 0; i < 3; i++) await handle.sendEvent("more")
  expect(await handle.result()).toBe("counting 7: 3")
  expect(await engine.workflows()).toEqual([{ name: "counting", version: "7", versions: ["7"] }])
  await engine.close()
})

describe("what is wrong is told", () => {
  it("a limit that would allow no attempt", async () => {
    class None extends BaseWorkflow {
      static readonly type = "none"
      static readonly defaults = { retries: { limit: 0 } }
      async run(): Promise<void> {}
    }
    expect(() => None.definition()).toThrow(expect.objectContaining({ code: "BAD_OPTION", message: expect.stringContaining("all attempts") as string }))
  })

  it("a duration of defaults that is none", () => {
    class Sometime extends BaseWorkflow {
      static readonly type = "sometime"
      static defaults: { retries?: { delay: string }; timeout?: string } = { retries: { delay: "soon" } }
      async run(): Promise<void> {}
    }
    class Whenever extends Sometime {
      static override defaults = { timeout: "5 fortnights" }
    }
    expect(() => Sometime.definition()).toThrow(expect.objectContaining({ message: expect.stringContaining("soon") as string }))
    expect(() => Whenever.definition()).toThrow(expect.objectContaining({ message: expect.stringContaining("5 fortnights") as string }))
  })

  it("an option of retries that there is not", () => {
    class Misspelt extends BaseWorkflow {
      static readonly type = "misspelt"
      static readonly defaults = { retries: { limits: 3 } as object }
      async run(): Promise<void> {}
    }
    expect(() => Misspelt.definition()).toThrow(expect.objectContaining({ code: "BAD_OPTION", message: expect.stringContaining("retries.limits") as string }))
  })

  it("something among the workflows that is none", async () => {
    await expect(Perdure.open({ store: memory(), workflows: [{} as typeof parent] })).rejects.toMatchObject({ code: "BAD_OPTION" })
  })

  it("somebody who is no client", () => {
    expect(() => Counting.create({ WORKFLOW_RUNNER: {} })).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
  })

  it("the context before there is one", () => {
    class Early extends BaseWorkflow<void, number> {
      static readonly type = "early"
      readonly #now = this.ctx.now()
      async run(): Promise<number> {
        return this.#now
      }
    }
    expect(() => new Early()).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
  })
})
