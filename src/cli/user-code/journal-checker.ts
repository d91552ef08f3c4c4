import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { ListFilter } from "../../client-api/client-api.ts"
import { checkAll, type CheckReport } from "../../engine/diagnostics/journal-check.ts"
import { journalsOf, type JournalSource } from "../../engine/diagnostics/journal-source.ts"
import { payloadCodecs } from "../../engine/payload-codec-store.ts"
import type { EngineOptions } from "../../engine/settings.ts"
import { consoleLogger } from "../../hosts/node/console-logger.ts"
import { NodeHost } from "../../hosts/node/node-host.ts"

const patienceMs = 500

/** Checks journals in this process. A failure in the checked code must not end the process. */
export async function checkWorkflows(
  workflows: readonly AnyWorkflow[],
  source: JournalSource,
  options: EngineOptions,
  filter: Pick<ListFilter, "workflow" | "idPrefix">,
  onProgress: (checked: number) => void,
  signal: AbortSignal,
): Promise<CheckReport> {
  const host = new NodeHost(consoleLogger)
  const engine = {}
  // Unhandled rejections of the checked code are ignored.
  const stop = host.onUnhandledRejection(() => undefined)
  try {
    return await checkAll(workflows, journalsOf(source, filter, payloadCodecs(options)), {
      quiesce: (then) => host.quiesce(then),
      enter: (instance, run) => host.runIn({ engine, instance }, run),
      wait: (activity) => waitFor(activity),
      onProgress,
      signal,
    })
  } finally {
    stop()
  }
}

function waitFor(activity: Promise<void>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), patienceMs)
    void activity.then(() => {
      clearTimeout(timer)
      resolve(true)
    })
  })
}
