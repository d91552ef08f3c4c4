// Everything of a Worker that runs durable workflows: the class of their objects, and the HTTP API.

import { createWorkerApp, createWorkflowRunner } from "perdure/cloudflare"
import { order, TestWorkflow } from "./workflows.ts"

export const WorkflowRunner = createWorkflowRunner({ workflows: [TestWorkflow, order] })

// With a secret API_TOKEN (`wrangler secret put API_TOKEN`), callers have to send it.
export default createWorkerApp({ configure: ({ API_TOKEN: token }: { API_TOKEN?: string }) => (token === undefined ? {} : { token }) })
