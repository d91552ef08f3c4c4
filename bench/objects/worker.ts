// The measured Worker. It runs the same workloads on Perdure, on Cloudflare's own Workflows and on a bare object.

import { WorkflowEntrypoint } from "cloudflare:workers"
import { createWorkflowRunner } from "perdure/cloudflare"
import { workflows } from "../bench-workflows.ts"
import { BareEngine } from "./bare-engine.ts"
import { CloudflareEngine } from "./cloudflare-engine.ts"
import type { ObjectEngine, WorkerEnv } from "./object-engine.ts"
import { PerdureEngine } from "./perdure-engine.ts"
import { workloads } from "./object-workloads.ts"

export { BareObject } from "./bare-object.ts"

// No workload reads the index, so the number of shards does not matter.
export const WorkflowRunner = createWorkflowRunner({ workflows })

interface Parameters {
  readonly steps: number
  readonly isParallel?: boolean
  readonly event?: boolean
  readonly sleepMs?: number
}

interface NativeStep {
  do<T>(name: string, fn: () => Promise<T>): Promise<T>
  sleep(name: string, ms: number): Promise<void>
  waitForEvent(name: string, options: { readonly type: string }): Promise<unknown>
}

export class Native extends WorkflowEntrypoint<unknown, Parameters> {
  async run({ payload }: { readonly payload: Parameters }, step: NativeStep): Promise<number> {
    const { steps, isParallel, event, sleepMs } = payload
    const numbers = Array.from({ length: steps }, (_, i) => i)
    if (isParallel) await Promise.all(numbers.map((i) => step.do(`step ${i}`, async () => ({ i }))))
    else for (const i of numbers) await step.do(`step ${i}`, async () => ({ i }))
    if (event) await step.waitForEvent("go", { type: "go" })
    if (sleepMs === undefined) return steps
    await step.sleep("nap", sleepMs)
    return Date.now()
  }
}

export type Engines = Readonly<Record<string, (env: WorkerEnv) => ObjectEngine>>

const engines: Engines = {
  perdure: (env) => new PerdureEngine(env),
  bare: (env) => new BareEngine(env),
  cloudflare: (env) => new CloudflareEngine(env),
}

/** Makes the Worker with further engines, which are installed on demand. */
export function workerWith(others: Engines): { fetch(request: Request, env: WorkerEnv): Promise<Response> } {
  return {
    async fetch(request, env) {
      const [, engine = "", workload = ""] = new URL(request.url).pathname.split("/")
      const measure = workloads[workload]
      const made = { ...engines, ...others }[engine]
      if (measure === undefined || made === undefined) return new Response("no such engine or workload", { status: 404 })
      return Response.json(await measure(made(env)))
    },
  }
}

export default workerWith({})
