import { workflowClient } from "perdure/cloudflare"
import { fan, listener, sequence, sleeper, taker } from "../bench-workflows.ts"
import { type ObjectEngine, wait, type WorkerEnv } from "./object-engine.ts"

export class PerdureEngine implements ObjectEngine {
  readonly grows = true
  readonly #client: ReturnType<typeof workflowClient>

  constructor({ WORKFLOW_RUNNER }: WorkerEnv) {
    this.#client = workflowClient(WORKFLOW_RUNNER)
  }

  async run(steps: number, isParallel = false): Promise<void> {
    const handle = await this.#client.start(isParallel ? fan : sequence, { input: steps })
    if ((await handle.result()) !== steps) throw new Error("an instance has another result than it should")
  }

  async awaiting(): Promise<() => Promise<void>> {
    const handle = await this.#client.start(listener, { input: 0 })
    while ((await handle.status()) !== "waiting") await wait(1)
    return async () => {
      await handle.sendEvent("go", 1)
      if ((await handle.result()) !== 1) throw new Error("an instance has another result than it should")
    }
  }

  async taking(events: number): Promise<() => Promise<void>> {
    const handle = await this.#client.start(taker, { input: events })
    while ((await handle.status()) !== "waiting") await wait(1)
    return async () => {
      await Promise.all(Array.from({ length: events }, (_, i) => handle.sendEvent("go", i)))
      if ((await handle.result()) !== events) throw new Error("an instance has another result than it should")
    }
  }

  async sleep(ms: number): Promise<() => Promise<number>> {
    const handle = await this.#client.start(sleeper, { input: ms })
    const wokenAt = await handle.result()
    return async () => {
      const [nap] = await handle.steps()
      return wokenAt - (nap?.wakeAt ?? Number.NaN)
    }
  }
}
