import { env } from "cloudflare:workers"
import { type ObjectNamespace, workflowClient } from "perdure/cloudflare"
import { describeClient } from "../../src/testing/client-conformance/describe-client.ts"
import { worldOf } from "./apart-runner.ts"
import { outside } from "./vitest-in-object.ts"

outside.isOn = true
// Shards hold what becomes of instances, not of their steps, which this one follows; index-shards.test.ts has what is told here.
outside.left.set("come from the beginning, from a cursor and from now on, of all and of one", "steps are not in the stream over all instances")

const { APART } = env as { readonly APART: ObjectNamespace }
// Limits of objects are those of the code: to set others is refused, and so is what this one does.
outside.left.set("are told, set and reset", "limits are changed by a deploy")
outside.left.set("has been asked for all that a client can do", "that is all but limits.reset")

let worlds = 0

describeClient("a client of Durable Objects", async () => ({ client: workflowClient(worldOf(APART, `w${++worlds}`)), close: async () => undefined }))
