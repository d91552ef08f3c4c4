// The types of Cloudflare's modules, for this example alone. A project that uses wrangler has them from `wrangler types`.

declare module "cloudflare:workers" {
  export { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "perdure/cloudflare-workflows"
}

declare module "cloudflare:workflows" {
  export { NonRetryableError } from "perdure/cloudflare-workflows"
}
