import type { WorkflowExecutionContext } from "./workflow-entrypoint.ts"

interface ErrorLog {
  error(message: string, data: Record<string, unknown>): void
}

/** The `ctx` of an entrypoint outside of Cloudflare. A promise of `waitUntil` runs on; only its rejection is looked at. */
export function executionContext(exports: Readonly<Record<string, unknown>>, log: ErrorLog): WorkflowExecutionContext {
  return {
    exports,
    props: {},
    waitUntil: (promise) => void Promise.resolve(promise).catch((error: unknown) => log.error("a promise given to waitUntil was rejected", { error })),
    passThroughOnException: () => undefined,
  }
}
