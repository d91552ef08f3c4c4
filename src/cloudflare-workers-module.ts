// What `import "cloudflare:workers"` is under Node, once perdure/cloudflare-workflows/register or the Vite plugin is loaded.

import { liveObject } from "./dialects/cloudflare-workflows/modules/current-program.ts"

/** The `env` of the program that `openWorkflows` opened last. */
export const env: Record<string, unknown> = liveObject("env")

/** The bindings of its workflows, by the names of their classes. */
export const exports: Record<string, unknown> = liveObject("exports")

/** The promise may settle later; a rejection is logged. */
export function waitUntil(promise: Promise<unknown>): void {
  promise.catch((error: unknown) => console.error("a promise given to waitUntil was rejected", error))
}

export { DurableObject, RpcTarget, WorkerEntrypoint } from "./dialects/cloudflare-workflows/modules/platform-classes.ts"
export { WorkflowEntrypoint } from "./dialects/cloudflare-workflows/workflow-entrypoint.ts"
