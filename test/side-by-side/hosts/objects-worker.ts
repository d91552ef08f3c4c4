// The programs in Durable Objects of Perdure.

import { createWorkflowRunner } from "perdure/cloudflare"
import { cloudflareBindings, cloudflareWorkflows } from "perdure/cloudflare-workflows"
import { workflowSources } from "../features.ts"
import { retryDelayMs } from "../retry-delay.ts"
import { answer } from "./worker.ts"

export const WorkflowRunner = createWorkflowRunner({ workflows: cloudflareWorkflows(workflowSources, { retryDelay: retryDelayMs }) })

export default {
  fetch(request: Request, env: { WORKFLOW_RUNNER: Parameters<typeof cloudflareBindings>[0] }): Promise<Response> {
    return answer(request, cloudflareBindings(env.WORKFLOW_RUNNER, workflowSources))
  },
}
