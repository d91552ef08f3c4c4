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
