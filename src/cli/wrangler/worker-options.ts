import { usageError } from "../exit-code.ts"
import type { Io } from "../io.ts"
import { environmentOf, readWorkerSettings, type WorkerSettings } from "./worker-settings.ts"

/** Options of the commands that take a wrangler.jsonc in place of a module. */
export interface WorkerOfOptions {
  readonly wrangler?: string
  readonly env?: string
  readonly workerPort?: number
}

/** Reads the wrangler.jsonc, so that a mistake in it ends the command before anything is started. Undefined: the command is about no Worker. */
export function workerOf(io: Pick<Io, "cwd" | "env">, named: string | undefined, options: WorkerOfOptions): WorkerSettings | undefined {
  if (options.wrangler === undefined) {
    if (options.env !== undefined) throw usageError("--env belongs to --wrangler <file>")
    if (options.workerPort !== undefined) throw usageError("--worker-port belongs to --wrangler <file>")
    return undefined
  }
  if (named !== undefined) throw usageError("give either a module or --wrangler; the wrangler.jsonc names its module itself")
  return readWorkerSettings(options.wrangler, io.cwd, environmentOf(io, options.env))
}
