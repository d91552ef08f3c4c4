import type { HistoryOptions } from "../../engine/client-api.ts"
import { InstanceReader } from "../../engine/instances/instance-reader.ts"
import type { RunnerPart } from "./runner-feature.ts"

/** For `describe`, `steps` and `history`: what an instance has done so far. */
export const history: RunnerPart = {
  answers: ({ parts: { store, settings } }) => {
    const reader = new InstanceReader(store, settings.codecs)
    return {
      describe: (id: string) => reader.describe(id),
      steps: (id: string) => reader.steps(id),
      history: (id: string, options: HistoryOptions = {}) => reader.history(id, options),
    }
  },
}
