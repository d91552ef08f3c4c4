// The Worker with Cloudflare's own Workflows: `GET /100/10` runs 100 instances of 10 steps at once, and answers when the last one is complete.

import { WorkflowEntrypoint } from "cloudflare:workers"
import { CloudflareEngine } from "../objects/cloudflare-engine.ts"
import type { WorkerEnv } from "../objects/object-engine.ts"
import { type SequenceClass, sequenceClass } from "./sequence-class.ts"

export const Sequence: SequenceClass = sequenceClass(WorkflowEntrypoint)

export default {
  async fetch(request: Request, env: Pick<WorkerEnv, "NATIVE">): Promise<Response> {
    const [, instances, steps] = new URL(request.url).pathname.split("/").map(Number)
    const engine = new CloudflareEngine(env)
    await Promise.all(Array.from({ length: instances ?? 0 }, () => engine.run(steps ?? 0)))
    return new Response("complete")
  },
}
