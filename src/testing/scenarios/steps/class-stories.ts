import { describe, expect, it } from "vitest"
import type { StandardSchemaV1 } from "../../../core/workflow/standard-schema.ts"
import type { HookEvent } from "../../../core/workflow/workflow.ts"
import { BaseWorkflow } from "../../../dialects/class/base-workflow.ts"
import type { Step } from "../../../dialects/class/step.ts"
import type { OpenBed } from "../scenario-bed.ts"

interface Job {
  readonly key: string
  readonly n: number
}

/** Converts text to a number. */
const digits: StandardSchemaV1<string, number> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) => (typeof value === "string" && /^\d+$/.test(value) ? { value: Number(value) } : { issues: [{ message: "not a number" }] }),
  },
}

/** The static fields of a workflow class: the same options as those of a native workflow. */
export function classStories(open: OpenBed): void {
  const job = (id: string, n = 1, key = "k") => ({ id, payload: { key, n } })

  class Waiting extends BaseWorkflow<Job, number, { readonly go: undefined }> {
    async run(step: Step<{ readonly go: undefined }>, { n }: Job): Promise<number> {
      await step.waitForEvent("go")
      return n
    }
  }

  describe("a class", () => {
    it("has its payload checked when an instance is created, and runs with what the schema makes of it", async () => {
      class Doubling extends BaseWorkflow<number, number> {
        static readonly type = "doubling"
        static readonly input = digits
        async run(_step: Step, n: number): Promise<number> {
          return n * 2
        }
      }
      const engine = await open({ workflows: [Doubling.definition()] })
      await expect(Doubling.create(engine, { id: "bad", payload: "a few" })).rejects.toMatchObject({
        code: "INVALID_INPUT",
        details: { issues: [{ path: "", message: "not a number" }] },
      })
      await expect(engine.get("bad").status()).rejects.toMatchObject({ code: "NOT_FOUND" })
      expect(await (await Doubling.create(engine, { payload: "21" })).result()).toBe(42)
    })

    it("may forbid the same step name twice", async () => {
      class Twice extends BaseWorkflow {
        static readonly type = "twice"
        static duplicateSteps = "error"
        async run(step: Step): Promise<void> {
          await step.do("charge", () => 1)
          await step.do("charge", () => 2)
        }
      }
      const engine = await open({ workflows: [Twice.definition()] })
      await expect((await Twice.create(engine)).result()).rejects.toMatchObject({ code: "DUPLICATE_STEP" })
    })

    it("has hooks, which are called on the class", async () => {
      class Hooked extends BaseWorkflow<boolean, string> {
        static readonly type = "hooked"
        static readonly heard: string[] = []
        static onCompleted({ id, result }: HookEvent): void {
          this.heard.push(`${id} ${String(result)}`)
        }
        static onFailed({ id, error }: HookEvent): void {
          this.heard.push(`${id} ${(error as Error).message}`)
        }
        async run(_step: Step, fails: boolean): Promise<string> {
          if (fails) throw new Error("no")
          return "done"
        }
      }
      const engine = await open({ workflows: [Hooked.definition()] })
      for (const [id, payload] of [["a", false] as const, ["b", true] as const]) {
        await Hooked.create(engine, { id, payload })
        await engine.settle()
      }
      expect(Hooked.heard).toEqual(["a done", "b no"])
    })

    it("may limit how many of its instances run, by a key of the payload, those of a higher priority first", async () => {
      class Limited extends Waiting {
        static readonly type = "limited"
        static readonly concurrency = { limit: 1, hold: true, key: ({ key }: Job) => key }
        static readonly factor = 10
        static priority({ n }: Job): number {
          return n * this.factor
        }
      }
      const engine = await open({ workflows: [Limited.definition()] })
      for (const [id, n, key] of [["a", 1, "x"] as const, ["b", 1, "x"] as const, ["c", 2, "x"] as const, ["d", 1, "y"] as const]) {
        await Limited.create(engine, job(id, n, key))
        await engine.settle()
      }
      const statuses = async () => Promise.all(["a", "b", "c", "d"].map((id) => Limited.status(engine, id)))
      expect(await statuses()).toEqual(["waiting", "queued", "queued", "waiting"])
      await Limited.sendEvent(engine, "a", "go")
      await engine.settle()
      expect(await statuses()).toEqual(["completed", "queued", "waiting", "waiting"])
    })

    it("may limit how many start in a time", async () => {
      class Paced extends Waiting {
        static readonly type = "paced"
        static rateLimit = { limit: 1, per: "1m" }
      }
      const engine = await open({ workflows: [Paced.definition()] })
      await Paced.create(engine, job("a"))
      await Paced.create(engine, job("b"))
      await engine.settle()
      expect([await Paced.status(engine, "a"), await Paced.status(engine, "b")]).toEqual(["waiting", "queued"])
      await engine.skip("1m")
      expect(await Paced.status(engine, "b")).toBe("waiting")
    })

    it("may be the only one, of a key", async () => {
      class Single extends Waiting {
        static readonly type = "single"
        static readonly singleton = { key: ({ key }: Job) => key }
      }
      const engine = await open({ workflows: [Single.definition()] })
      await Single.create(engine, job("a"))
      await engine.settle()
      await expect(Single.create(engine, job("b"))).rejects.toMatchObject({ code: "SINGLETON_EXISTS", details: { instance: "a" } })
      expect((await Single.create(engine, job("c", 1, "other"))).id).toBe("c")
    })

    it("may wait for quiet before it begins", async () => {
      class Late extends BaseWorkflow<Job, number> {
        static readonly type = "late"
        static debounce = { quiet: "10s", max: "1m", key: ({ key }: Job) => key }
        async run(_step: Step, { n }: Job): Promise<number> {
          return n
        }
      }
      const engine = await open({ workflows: [Late.definition()] })
      const first = await Late.create(engine, { payload: { key: "k", n: 1 } })
      await engine.skip("9s")
      const second = await Late.create(engine, { payload: { key: "k", n: 2 } })
      expect(second.id).toBe(first.id)
      await engine.skip("10s")
      expect(await first.result()).toBe(2)
    })

    it("has a timeout, and a task queue", async () => {
      class Timed extends Waiting {
        static readonly type = "timed"
        static timeout = "1h"
        static readonly taskQueue = "slow"
      }
      const engine = await open({ workflows: [Timed.definition()] })
      const handle = await Timed.create(engine, job("a"))
      await engine.skip("59m")
      expect(await handle.status()).toBe("waiting")
      expect((await handle.describe()).queue).toBe("slow")
      await engine.skip("1m")
      await engine.settle()
      expect(await handle.status()).toBe("failed")
    })

    it("that says nothing of retries tries three times, exactly one and two seconds apart", async () => {
      const times: number[] = []
      class Failing extends BaseWorkflow<void, never> {
        static readonly type = "failing"
        async run(step: Step): Promise<never> {
          return step.do<never>("fail", () => {
            times.push(engine.now())
            throw new Error("no")
          })
        }
      }
      const engine = await open({ workflows: [Failing.definition()], seed: "3" })
      const handle = await Failing.create(engine)
      await engine.skip("1m")
      expect(await handle.status()).toBe("failed")
      expect(times.map((at) => at - (times[0] ?? 0))).toEqual([0, 1_000, 3_000])
    })

    it("goes by the engine's function for retries where it says nothing of its own", async () => {
      const times: number[] = []
      class Failing extends BaseWorkflow<void, never> {
        static readonly type = "failing"
        async run(step: Step): Promise<never> {
          return step.do<never>("fail", () => {
            times.push(engine.now())
            throw new Error("no")
          })
        }
      }
      const engine = await open({ workflows: [Failing.definition()], retry: (_error, attempt) => (attempt < 2 ? "5s" : false) })
      const handle = await Failing.create(engine)
      await engine.skip("1m")
      expect(await handle.status()).toBe("failed")
      expect(times.map((at) => at - (times[0] ?? 0))).toEqual([0, 5_000])
    })
  })
}
