import { questionSupport } from "../../engine/all-features.ts"
import { UpdateWaiters } from "../../engine/instances/update-waiters.ts"
import { QueryUpdateClient } from "../../engine/instances/query-update-client.ts"
import { refuseSelf } from "../../engine/instances/instance-calls.ts"
import { fallbackPollOptions } from "../../engine/worker/fallback-poll.ts"
import type { RunnerPart } from "./runner-feature.ts"

/** For queries and updates: what callers ask the code of instances. */
export const queries: RunnerPart = {
  features: { questions: questionSupport },
  answers: (core) => {
    const { store, host, registry, worker } = core.parts
    const queryUpdateClient = new QueryUpdateClient(store, registry, worker, core.attach(new UpdateWaiters(store, host, fallbackPollOptions(core.parts))))
    return {
      query: (id: string, name: string, args: readonly unknown[]) => queryUpdateClient.query(id, name, args),
      update: async (id: string, name: string, args: readonly unknown[]) => {
        refuseSelf(core.parts, id, "updates itself and waits for its own answer")
        return queryUpdateClient.update(id, name, args)
      },
    }
  },
}
