import { createWorkflowRunner } from "perdure/cloudflare"
import { cloudflareWorkflows } from "../../src/cloudflare-workflows-worker.ts"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import { sources } from "../cloudflare-http-cases.ts"

const binding = "DIALECT_RUNNER"

export const DialectRunner = createWorkflowRunner({ workflows: cloudflareWorkflows(sources, { binding }), binding, log: silentLogger })
