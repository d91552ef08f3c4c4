// The Worker of bench/objects, with one engine more.

import { createDurableWorkflows, Workflow } from "@durable-effect/workflow"
import { Effect } from "effect"
import { type ObjectEngine, wait, type WorkerEnv } from "../../objects/object-engine.ts"
import { workerWith } from "../../objects/worker.ts"

export { BareObject, Native, WorkflowRunner } from "../../objects/worker.ts"

const step = (i: number) => Workflow.step(`step ${i}`, Effect.succeed({ i }))
const numbers = (steps: number) => Array.from({ length: steps }, (_, i) => i)

const sequence = Workflow.make("sequence", (steps: number) =>
  Effect.gen(function* () {
    for (const i of numbers(steps)) yield* step(i)
  }),
)
const fan = Workflow.make("fan", (steps: number) => Effect.all(numbers(steps).map(step), { concurrency: "unbounded", discard: true }))
const sleeper = Workflow.make("sleeper", (ms: number) => Workflow.sleep(ms))

export const EffectWorkflows = createDurableWorkflows({ sequence, fan, sleeper })

interface EffectStub {
  run(call: { readonly workflow: string; readonly input: number }): Promise<unknown>
  getStatus(): Promise<{ readonly _tag: string; readonly completedAt?: number } | undefined>
}

/** It has no events. Whoever sleeps tells nobody that it is over, and is asked every millisecond. */
class EffectEngine implements ObjectEngine {
  readonly #env: WorkerEnv & { readonly EFFECT?: WorkerEnv["BARE"] }

  constructor(env: WorkerEnv) {
    this.#env = env
  }

  async run(steps: number, isParallel = false): Promise<void> {
    await this.#object().run({ workflow: isParallel ? "fan" : "sequence", input: steps })
  }

  async sleep(ms: number): Promise<() => Promise<number>> {
    const startedAt = Date.now()
    const object = this.#object()
    await object.run({ workflow: "sleeper", input: ms })
    for (;;) {
      const status = await object.getStatus()
      if (status?._tag === "Failed") throw new Error("an instance has failed")
      if (status?.completedAt !== undefined) {
        const lateMs = status.completedAt - startedAt - ms
        return async () => lateMs
      }
      await wait(1)
    }
  }

  #object(): EffectStub {
    const namespace = this.#env.EFFECT
    if (namespace === undefined) throw new Error("the Worker has no objects of this engine")
    return namespace.get(namespace.idFromName(crypto.randomUUID())) as unknown as EffectStub
  }
}

export default workerWith({ effect: (env) => new EffectEngine(env) })
