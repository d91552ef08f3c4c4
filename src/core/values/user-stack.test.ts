import { describe, expect, it } from "vitest"
import { StepFailedError } from "../errors.ts"
import { thrownAt, userStack } from "./user-stack.ts"

function withStack(error: Error, ...frames: readonly string[]): Error {
  error.stack = [`${error.name}: ${error.message}`, ...frames.map((frame) => `    at ${frame}`)].join("\n")
  return error
}

describe("the stack of a user's error", () => {
  it("is without the frames of Perdure and of Node's insides", () => {
    const error = withStack(
      new TypeError("card declined"),
      "chargeCard (file:///app/pay.ts:4:9)",
      "async StepAttempt.call (file:///app/node_modules/perdure/dist/node/shared-AB.js:1:2)",
      "process.processTicksAndRejections (node:internal/process/task_queues:104:5)",
      "Object.run (C:\\app\\node_modules\\perdure\\dist\\core\\execution.js:1:2)",
      "async Object.run (file:///app/pay.ts:12:3)",
    )
    expect(userStack(error)).toBe("TypeError: card declined\n    at chargeCard (file:///app/pay.ts:4:9)\n    at async Object.run (file:///app/pay.ts:12:3)")
    expect(thrownAt(error)).toBe("chargeCard (file:///app/pay.ts:4:9)")
  })

  it("keeps lines of the message that look like frames", () => {
    const error = withStack(new Error("see\n    at node_modules/perdure/x"), "charge (file:///app/pay.ts:4:9)")
    expect(userStack(error)).toBe("Error: see\n    at node_modules/perdure/x\n    at charge (file:///app/pay.ts:4:9)")
  })

  it("is not there where no frame is the user's", () => {
    expect(userStack(withStack(new Error("x"), "a (/app/node_modules/perdure/dist/a.js:1:1)"))).toBeUndefined()
    expect(thrownAt("a text")).toBeUndefined()
    expect(thrownAt(undefined)).toBeUndefined()
  })

  it("of a step that failed is that of its cause", () => {
    const cause = withStack(new TypeError("no"), "charge (file:///app/pay.ts:4:9)")
    const failed = withStack(new StepFailedError("charge", 3, cause), "settle (worker.js:1:1)")
    expect(userStack(failed)).toBeUndefined()
    expect(thrownAt(failed)).toBe("charge (file:///app/pay.ts:4:9)")
  })
})
