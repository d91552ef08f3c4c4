import type { ForkOptions, RestartOptions } from "../../engine/client-api.ts"
import { Restarts } from "../../engine/instances/restarts.ts"
import type { RunnerPart } from "./runner-feature.ts"

/** For `restart` and `fork`: what an instance did is done again. */
export const restarts: RunnerPart = {
  answers: ({ parts: { store, registry, worker } }) => {
    const again = new Restarts(store, registry, worker)
    return {
      restart: (id: string, options: RestartOptions = {}) => again.restart(id, options),
      fork: (id: string, options: ForkOptions) => again.fork(id, options),
    }
  },
}
