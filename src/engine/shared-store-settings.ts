import { PerdureError } from "../core/errors.ts"
import { checkQueue } from "../core/workflow/input-limits.ts"
import { checkCount, durationOr, type EngineOptions, type EngineSettings } from "./settings.ts"

/** With what only an engine needs that others share a store with. */
export function sharedStoreSettings(settings: EngineSettings, options: EngineOptions): EngineSettings {
  const { execute = settings.execute } = options
  if (execute !== "always" && execute !== "ticks") throw new PerdureError("BAD_OPTION", `execute is ${String(execute)}; give "always" or "ticks"`)
  checkCount("maxResidentInstances", options.maxResidentInstances, 1)
  checkCount("maxResidentBytes", options.maxResidentBytes, 0)
  return {
    ...settings,
    execute,
    leaseMs: durationOr(options.lease, "lease", settings.leaseMs),
    sweepMs: durationOr(options.sweep, "sweep", settings.sweepMs),
    residentMax: options.maxResidentInstances ?? settings.residentMax,
    residentBytesMax: options.maxResidentBytes ?? settings.residentBytesMax,
    queues: options.taskQueues && checkQueues(options.taskQueues),
  }
}

function checkQueues(queues: readonly string[]): readonly string[] {
  if (!Array.isArray(queues) || queues.length === 0)
    throw new PerdureError("BAD_OPTION", `taskQueues names no queue; give a list such as ["default", "reports"], or omit it to serve all queues`)
  for (const queue of queues as readonly string[]) checkQueue(queue)
  return [...new Set(queues as readonly string[])]
}
