import type { BindingReport } from "../wrangler/worker-env.ts"

/** Settings of the executing process, which it gets as its argument. */
export interface DevSettings {
  /** The module that exports the workflows, or the wrangler.jsonc of a Worker. */
  readonly entry: string
  /** Defined: the entry is a wrangler.jsonc. */
  readonly worker?: WorkerOptions
  readonly db: string
  readonly cwd: string
  /** Of the HTTP API; undefined if there is none. */
  readonly port?: number
}

export interface WorkerOptions {
  readonly environment?: string
  /** Of the Worker itself. */
  readonly port?: number
}

/** A Worker that is served. */
export interface WorkerReport {
  readonly name: string
  /** Undefined: the Worker has no handler. */
  readonly url?: string
  readonly bindings: readonly BindingReport[]
  readonly crons: readonly { readonly cron: string; readonly next?: string }[]
}

/** A message from the executing process to the watching process. */
export type DevReport =
  | { readonly type: "ready"; readonly offers: readonly string[]; readonly role: "worker" | "client"; readonly url?: string; readonly worker?: WorkerReport }
  /** The process could not load the workflows or open the database, and ends. */
  | { readonly type: "failed"; readonly message: string; readonly code?: string }
  /** The database is gone, and the process ends. A restart would begin with an empty database. */
  | { readonly type: "gone"; readonly message: string }
