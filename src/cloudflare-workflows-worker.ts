// What `import "perdure/cloudflare-workflows"` is in a Worker. Its types are those of cloudflare-workflows.ts; an engine can only be opened on Node, so nothing of
// the Node host is in a Worker's bundle.

import type { openWorkflows as openOnNode } from "./cloudflare-workflows.ts"
import { PerdureError } from "./core/errors.ts"

/** Throws `BAD_OPTION`: a Worker cannot open an engine. Use `cloudflareWorkflows` with `createWorkflowRunner` of `perdure/cloudflare`. */
export const openWorkflows: typeof openOnNode = async () => {
  throw new PerdureError("BAD_OPTION", 'a Worker cannot open an engine; use cloudflareWorkflows with createWorkflowRunner of "perdure/cloudflare"')
}

export { cloudflareBindings, cloudflareWorkflows } from "./cloudflare/runner/cloudflare-workflows.ts"
export { NonRetryableError } from "./dialects/cloudflare-workflows/workflow-errors.ts"
export { WorkflowEntrypoint } from "./dialects/cloudflare-workflows/workflow-entrypoint.ts"
