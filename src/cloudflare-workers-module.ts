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

// Types that programs import together with the classes. Programs often leave out the word `type`. Node only strips types: it keeps the import, and looks for a
// value of that name.

/** A type of Cloudflare, and no value. */
export const WorkflowBackoff = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowCronSchedule = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowDelayDuration = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowDelayFunction = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowDurationLabel = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowDynamicDelayContext = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowEvent = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowInstanceStatus = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowRetentionDuration = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowRollbackContext = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowRollbackHandler = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowSleepDuration = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowStep = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowStepConfig = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowStepContext = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowStepEvent = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowStepRollbackConfig = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowStepRollbackOptions = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowStepSensitivity = undefined
/** A type of Cloudflare, and no value. */
export const WorkflowTimeoutDuration = undefined
