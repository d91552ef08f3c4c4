import type { AnyWorkflow } from "../core/workflow/workflow.ts"
import type { ListFilter } from "../client-api/client-api.ts"
import { checkAll, type CheckReport } from "../engine/diagnostics/journal-check.ts"
import { journalsOf, type JournalSource } from "../engine/diagnostics/journal-source.ts"
import { payloadCodecs } from "../engine/payload-codec-store.ts"
import type { EngineOptions } from "../engine/settings.ts"
import { macrotask } from "../hosts/simulated/simulated-host.ts"

/** Options of `checkJournals`. `codec` and `retiredCodecs` are for exported journals; a client has its own codecs. */
export interface CheckOptions extends Pick<EngineOptions, "codec" | "retiredCodecs"> {
  /** Check only instances of this workflow, or only instances whose ids begin with this prefix. */
  readonly filter?: Pick<ListFilter, "workflow" | "idPrefix">
  /** Called after each instance with the number of instances checked so far. */
  readonly onProgress?: (checked: number) => void
}

const patienceMacrotasks = 5_000

/**
 * Replays the journals of all instances that are not over against these workflows, and reports every instance whose journal disagrees with the code. The check
 * only reads, and runs no step. `source` is a client of the engine that has the instances, or a list of exported journals.
 */
export function checkJournals(workflows: readonly AnyWorkflow[], source: JournalSource, options: CheckOptions = {}): Promise<CheckReport> {
  const { filter = {}, onProgress } = options
  return checkAll(workflows, journalsOf(source, filter, payloadCodecs(options)), {
    quiesce: macrotask,
    enter: (_, run) => run(),
    wait: async (activity) => {
      let isActive = false
      void activity.then(() => (isActive = true))
      for (let passed = 0; passed < patienceMacrotasks && !isActive; passed++) await new Promise<void>((resolve) => macrotask(resolve))
      return isActive
    },
    ...(onProgress ? { onProgress } : undefined),
  })
}
