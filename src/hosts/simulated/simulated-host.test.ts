import { describeHost } from "../../testing/host-conformance/describe-host.ts"
import { macrotask, SimulatedHost } from "./simulated-host.ts"

const settle = () => new Promise<void>(macrotask)

describeHost(
  "simulated",
  (log) => {
    const host = new SimulatedHost({ log })
    return { host, pass: (ms) => host.advanceTo(host.now() + ms, settle), setWallClock: (byMs) => host.setWallClock(byMs) }
  },
  [{ without: "unhandled rejections", reason: "they are the test's own, and its runner reports them" }],
)
