import { AsyncLocalStorage } from "node:async_hooks"
import { expect, it, vi } from "vitest"
import { ObjectHost } from "../../src/cloudflare/objects/object-host.ts"
import { describeHost } from "../../src/testing/host-conformance/describe-host.ts"
import { currentState } from "./vitest-in-object.ts"

describeHost(
  "a Durable Object",
  (log) => {
    let setMs = 0
    const host = new ObjectHost(currentState().storage, log, () => Date.now() + setMs)
    return { host, pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)), setWallClock: (byMs) => (setMs += byMs) }
  },
  [{ without: "unhandled rejections", reason: "the platform writes them to its log, and tells nobody whose they are" }],
)

it("steps that follow each other enter one frame of the platform's, and such that run at once have their own", () => {
  const host = new ObjectHost({ sync: async () => {} }, console)
  const made = vi.spyOn(AsyncLocalStorage.prototype, "run")
  const scopes = ["a", "b", "c"].map((step) => ({ engine: host, instance: "i", step }))
  for (const scope of scopes) {
    expect(host.runIn(scope, () => host.currentScope(), true)).toBe(scope)
    host.leave(scope)
  }
  expect(made).toHaveBeenCalledTimes(1)
  for (const scope of scopes) expect(host.runIn(scope, () => host.currentScope(), true)).toBe(scope)
  expect(made).toHaveBeenCalledTimes(3)
  // Nobody says when this one is over.
  for (const scope of scopes) host.leave(scope)
  for (const scope of scopes) expect(host.runIn(scope, () => host.currentScope())).toBe(scope)
  expect(made).toHaveBeenCalledTimes(6)
  made.mockRestore()
})
