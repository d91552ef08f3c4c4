import { expect, it } from "vitest"
import { workflow } from "../../core/workflow/workflow.ts"
import { createTestEngine } from "../../testing/test-engine.ts"

it("a nested step with steps of its own is retried as the next attempt, also if the retry became due while no worker had the instance", async () => {
  const attempts: number[] = []
  const order = workflow("order", async (ctx) =>
    ctx.do("outer", ({ step }) =>
      step.do(
        "inner",
        async ({ attempt, step: inner }) => {
          attempts.push(attempt)
          await inner.do("deep", () => "done")
          if (attempt < 3) throw new Error("not yet")
          return attempt
        },
        { retry: { maxAttempts: 3, initialInterval: "1s", backoff: "fixed", jitter: 0 } },
      ),
    ),
  )
  await using engine = await createTestEngine({ workflows: [order] })
  const handle = await engine.start(order, { id: "i" })
  await engine.settle()
  await engine.crash()
  await engine.skip("1s")
  await engine.evict("i")
  await engine.skip("1s")
  expect(await handle.result()).toBe(3)
  expect(attempts).toEqual([1, 2, 3])
})
