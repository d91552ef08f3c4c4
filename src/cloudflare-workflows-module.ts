// What `import "cloudflare:workflows"` is under Node, once perdure/cloudflare-workflows/register or the Vite plugin is loaded.

export { NonRetryableError } from "./dialects/cloudflare-workflows/workflow-errors.ts"
