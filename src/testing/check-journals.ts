import type { AnyWorkflow } from "../core/workflow/workflow.ts"
import type { ListFilter } from "../engine/client-api.ts"
import { checkAll, type CheckReport } from "../engine/diagnostics/journal-check.ts"
import { journalsOf, type JournalSource } from "../engine/diagnostics/journal-source.ts"
import { payloadCodecs } from "../engine/payload-codec-store.ts"
import type { EngineOptions } from "../engine/settings.ts"
import { macrotask } from "../hosts/simulated/simulated-host.ts"

/** Options of `checkJournals`. `codec` and `retiredCodecs` are for journals that were kept; a client has its own. */
export interface CheckOptions extends Pick<EngineOptions, "codec" | "retiredCodecs"> {
  /** Only instances of this workflow, or whose ids begin so. */
  readonly filter?: Pick<ListFilter, "workflow" | "idPrefix">
  /** Called after each instance with how many were checked. */
  readonly onProgress?: (checked: number) => void
}

const patienceMacrotasks = 5_000

/**
 * Replays the journals of all instances that are not over against these workflows, and says which of them the code does not fit. Reads only, and runs no
 * step. `source` is a client of where the instances are, or journals that were kept.
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
