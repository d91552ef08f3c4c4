// The Worker that is killed: a workflow whose activity waits in a task queue for processes outside of the Worker, and the HTTP API.

import { type Context, workflow } from "../../../../src/index.ts"
import { createWorkerApp, createWorkflowRunner } from "../../../../src/cloudflare.ts"

const weld = workflow("weld", async (ctx: Context, input: { readonly parts: number }) => {
  const first = await ctx.activity("press", { taskQueue: "yard", input, retry: { maxAttempts: 2, initialInterval: 1 } })
  return [first, await ctx.activity("press", { taskQueue: "yard", input: { parts: 0 } })]
})

export const WorkflowRunner = createWorkflowRunner({ workflows: [weld] })

export default createWorkerApp()
