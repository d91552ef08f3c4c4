import { Perdure, workflow } from "perdure"
import { memory } from "perdure/testing"
import { expect, it } from "vitest"
import { userFrames } from "../../core/values/user-stack.ts"
import { recogniseOwnFrames } from "./own-frames.ts"

it("frames of this copy of Perdure are told from others, wherever it is", () => {
  recogniseOwnFrames()
  const error = new Error("here")
  const own = new URL("../../core/values/value-codec.ts", import.meta.url)
  error.stack = `${error.stack}\n    at decodeValue (${own.pathname}:1:2)\n    at decodeValue (${own.href}:1:2)`
  expect(userFrames(error).join()).toContain("own-frames.test.ts")
  expect(userFrames(error).join()).not.toContain("core/codec.ts")
})

it("an error that is logged has no frames of Perdure", async () => {
  const stacks: unknown[] = []
  const note = (_: string, data: Record<string, unknown> = {}) => void stacks.push((data["error"] as Error).stack)
  const flow = workflow("flow", (ctx) =>
    ctx.do(
      "charge",
      () => {
        throw new TypeError("card declined")
      },
      { retry: { maxAttempts: 1 } },
    ),
  )
  const engine = await Perdure.open({ store: memory(), workflows: [flow], log: { debug: note, info: note, warn: note, error: note } })
  await expect((await engine.start(flow)).result()).rejects.toThrow("card declined")
  await engine.close()
  expect(stacks).toEqual([
    expect.stringMatching(/^TypeError: card declined\n {4}at .*own-frames\.test\.ts:\d+:\d+\)$/),
    'StepFailedError: step "charge" failed after 1 attempt: card declined',
  ])
})
