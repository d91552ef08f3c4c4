import type { Client } from "../client-api/client-api.ts"
import { createHttpApp } from "./app.ts"
import type { HttpAppOptions } from "./settings.ts"

/** Options of `createWorkerApp`. Each has a default. */
export interface WorkerAppOptions extends WorkerHttpOptions {
  /** The name of the binding to the class of the workflow runner. Default `"WORKFLOW_RUNNER"`. */
  readonly binding?: string
  /** Options that depend on the Worker's environment: `(env) => ({ token: env.API_TOKEN })`. Called once for each environment. */
  readonly configure?: (env: never) => WorkerHttpOptions
}

/** Options of the HTTP API that also make sense in a Worker. */
export type WorkerHttpOptions = Omit<HttpAppOptions, "tick" | "signal">

/** The default export of a Worker. */
export interface WorkerApp {
  /** Answers a request; the platform calls it. The app for an environment is made at its first request, and throws `BAD_OPTION` if the binding is missing. */
  fetch(request: Request, env: object, ctx?: unknown): Promise<Response>
}

/** The HTTP API as a Worker, with an app for each environment object. The platform passes one such object as long as the Worker is in memory. */
export function workerApp({ configure, ...options }: Omit<WorkerAppOptions, "binding">, clientOf: (env: object) => Client): WorkerApp {
  const apps = new WeakMap<object, ReturnType<typeof createHttpApp>>()
  return {
    async fetch(request, env) {
      let app = apps.get(env)
      if (app === undefined) {
        app = createHttpApp(clientOf(env), { ...options, ...configure?.(env as never) })
        apps.set(env, app)
      }
      return app.fetch(request)
    },
  }
}
