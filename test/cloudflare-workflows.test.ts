import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { promisify } from "node:util"
import { NonRetryableError, openWorkflows, WorkflowEntrypoint, type WorkflowEvent, type WorkflowSources, type WorkflowStep } from "perdure/cloudflare-workflows"
import { sqlite } from "perdure/sqlite"
import { afterEach, describe, expect, it } from "vitest"
import { silentLogger } from "../src/hosts/silent-logger.ts"

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function open<const W extends WorkflowSources>(workflows: W, options: { retryDelay?: number } = {}) {
  const opened = await openWorkflows({ store: sqlite(":memory:"), workflows, log: silentLogger, ...options })
  closing.push(() => opened.engine.close())
  return opened
}

/** Waits for the end of an instance, and gives its status. */
async function ended(instance: { subscribe(): Promise<AsyncIterable<unknown>>; status(): Promise<unknown> }) {
  for await (const _ of await instance.subscribe()) void _
  return instance.status()
}

describe("a program for Cloudflare Workflows", () => {
  it("gets its params, its env and its bindings, and gives its result", async () => {
    class Greeting extends WorkflowEntrypoint<{ WORD: string }, { name: string }> {
      async run({ payload, instanceId, workflowName }: WorkflowEvent<{ name: string }>, step: WorkflowStep) {
        return step.do("greet", async ({ step: { name, count }, attempt, config }) => [
          this.env.WORD,
          payload,
          instanceId,
          workflowName,
          name,
          count,
          attempt,
          config,
        ])
      }
    }
    const { env } = await openWorkflows({ store: sqlite(":memory:"), workflows: { GREETING_CARD: Greeting }, env: { WORD: "Hello" }, log: silentLogger }).then(
      (opened) => {
        closing.push(() => opened.engine.close())
        return opened
      },
    )
    const instance = await env.GREETING_CARD.create({ id: "g-1", params: { name: "Ada" } })
    const config = { retries: { limit: 5, delay: 10_000, backoff: "exponential" }, timeout: "10 minutes" }
    expect(await ended(instance)).toEqual({
      status: "complete",
      output: ["Hello", { name: "Ada" }, "g-1", "greeting-card", "greet", 1, 1, config],
    })
  })

  it("tries a failed step again as its config says, and throws what the last attempt threw", async () => {
    const attempts: number[] = []
    class Flaky extends WorkflowEntrypoint {
      async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
        await step.do("flaky", { retries: { limit: 2, delay: 1, backoff: "constant" } }, async ({ attempt }) => {
          attempts.push(attempt)
          throw new RangeError(`attempt ${attempt}`)
        })
      }
    }
    const { env } = await open({ FLAKY: Flaky })
    expect(await ended(await env.FLAKY.create())).toMatchObject({ status: "errored", error: { name: "RangeError", message: "attempt 3" } })
    expect(attempts).toEqual([1, 2, 3])
  })

  it("stops at a NonRetryableError, which the code can catch", async () => {
    class Final extends WorkflowEntrypoint {
      async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
        const caught = await step.do("a", async () => Promise.reject(new NonRetryableError("never"))).catch((error: Error) => [error.name, error.message])
        await step.do("b", async () => Promise.reject(new NonRetryableError("not ever")))
        return caught
      }
    }
    const { env } = await open({ FINAL: Final })
    expect(await ended(await env.FINAL.create())).toMatchObject({ status: "errored", error: { name: "NonRetryableError", message: "not ever" } })
  })

  it("creates a child once, and sees its status", async () => {
    class Child extends WorkflowEntrypoint<unknown, { n: number }> {
      async run({ payload }: WorkflowEvent<{ n: number }>, step: WorkflowStep) {
        return step.do("double", async () => payload.n * 2)
      }
    }
    class Parent extends WorkflowEntrypoint<{ CHILD: { create(options: object): Promise<{ id: string; status(): Promise<{ status: string }> }> } }> {
      async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
        const child = await this.env.CHILD.create({ id: "kid", params: { n: 21 } })
        const taken = await this.env.CHILD.create({ id: "kid" }).catch((error: Error) => error.message)
        await step.sleep("a moment", 20)
        return [child.id, taken, (await child.status()).status, Object.keys(this.workflows)]
      }
    }
    const { env } = await open({ CHILD: Child, PARENT: Parent })
    expect(await ended(await env.PARENT.create())).toEqual({
      status: "complete",
      output: ["kid", '(instance.already_exists) Workflow instance with id "kid" already exists', "complete", ["child", "parent"]],
    })
  })

  it("records the retention of the creation, else that of the workflow", async () => {
    class Kept extends WorkflowEntrypoint {
      async run() {
        return 1
      }
    }
    const { env, engine } = await open({ KEPT: { class: Kept, default_retention: { errorRetention: "1 month" } } })
    await env.KEPT.create({ id: "a" })
    await env.KEPT.create({ id: "b", retention: { successRetention: "2 days" } })
    const retentionOf = async (id: string) => (await engine.describe(`kept:${id}`)).retention
    expect([await retentionOf("a"), await retentionOf("b")]).toEqual([{ failed: 2_592_000_000 }, { completed: 172_800_000 }])
    await expect(env.KEPT.create({ retention: { successRetention: "soon" } })).rejects.toThrow("is no duration")
  })

  it("goes on after a crash: recorded steps are not done again, and a stream comes back", async () => {
    let calls = 0
    class Streaming extends WorkflowEntrypoint {
      async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
        const stream = await step.do("stream", async () => {
          calls++
          return new Response("hello, stream").body as ReadableStream
        })
        await step.waitForEvent("go", { type: "go" })
        return new Response(stream).text()
      }
    }
    const store = sqlite(":memory:")
    const first = await openWorkflows({ store, workflows: { STREAMING: Streaming }, log: silentLogger })
    closing.push(() => first.engine.close())
    const instance = await first.env.STREAMING.create({ id: "s" })
    while ((await instance.status()).status !== "waiting") await delay(5)
    await first.engine.pause("streaming:s")
    await first.engine.resume("streaming:s")
    await instance.sendEvent({ type: "go", payload: {} })
    expect(await ended(instance)).toEqual({ status: "complete", output: "hello, stream" })
    expect(calls).toBe(1)
  })
})

describe("a program that imports cloudflare:workers and cloudflare:workflows", () => {
  it("runs under Node with the register hook", async () => {
    const folder = mkdtempSync(join(tmpdir(), "perdure-register-"))
    try {
      writeFileSync(join(folder, "program.mjs"), unchanged)
      const run = (entry: string) =>
        promisify(execFile)(process.execPath, ["--import", new URL(`../src/${entry}`, import.meta.url).href, join(folder, "program.mjs")], {
          cwd: folder,
          env: { ...process.env, OPEN_WORKFLOWS: new URL("../src/cloudflare-workflows.ts", import.meta.url).href },
        })
      expect((await run("cloudflare-workflows-register.ts")).stdout.trim()).toBe('{"status":"complete","output":["blue","NonRetryableError: no"]}')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

const unchanged = `
import { env, WorkflowEntrypoint } from "cloudflare:workers"
import { NonRetryableError } from "cloudflare:workflows"

class Painter extends WorkflowEntrypoint {
  async run(event, step) {
    const colour = await step.do("paint", async () => env.COLOUR)
    const error = await step.do("fail", async () => { throw new NonRetryableError("no") }).catch(String)
    return [colour, error]
  }
}

const { openWorkflows } = await import(process.env.OPEN_WORKFLOWS)
const log = { debug() {}, info() {}, warn() {}, error() {} }
const { engine } = await openWorkflows({ workflows: { PAINTER: Painter }, env: { COLOUR: "blue" }, log })
const instance = await env.PAINTER.create()
for await (const _ of await instance.subscribe());
console.log(JSON.stringify(await instance.status()))
await engine.close()
`
