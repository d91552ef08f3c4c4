import { ObjectHost } from "../../src/hosts/cloudflare/object-host.ts"
import { describeHost } from "../../src/testing/host-conformance/describe-host.ts"
import { currentState } from "./vitest-in-object.ts"

describeHost(
  "a Durable Object",
  (log) => ({ host: new ObjectHost(currentState().storage, log), pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) }),
  [{ without: "unhandled rejections", reason: "the platform writes them to its log, and tells nobody whose they are" }],
)
