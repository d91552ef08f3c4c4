import { env } from "cloudflare:workers"
import { type ObjectNamespace, workflowClient } from "perdure/cloudflare"
import { describeClient } from "../../src/testing/client-conformance/describe-client.ts"
import { worldOf } from "./apart-runner.ts"
import { outside } from "./vitest-in-object.ts"

outside.isOn = true
// Shards have the changes of instances, and not of their steps, which this case follows. index-shards.test.ts has the case for objects.
outside.left.set("come from the beginning, from a cursor and from now on, of all and of one", "steps are not in the stream over all instances")

const { APART } = env as { readonly APART: ObjectNamespace }

let worlds = 0

describeClient("a client of Durable Objects", async () => ({
  client: workflowClient(worldOf(APART, `w${++worlds}`)),
  close: async () => undefined,
}))
