import type { ForkOptions, Handle, ResultOptions } from "../client-api/client-api.ts"
import { InstanceHandle } from "../client-api/instance-handle.ts"
import { PerdureError } from "../core/errors.ts"
import type { Engine } from "../engine/engine.ts"
import { macrotask } from "../hosts/simulated/simulated-host.ts"
import type { AwaitedResults } from "./awaited-results.ts"

/** A handle that outlives crashes. */
export class TestHandle extends InstanceHandle {
  readonly #engine: () => Engine
  readonly #crashing: () => Promise<void> | undefined

  readonly #results: AwaitedResults

  constructor(current: () => Engine, crashing: () => Promise<void> | undefined, results: AwaitedResults, id: string) {
    super(() => current().calls, id)
    this.#results = results
    this.#engine = current
    this.#crashing = crashing
  }

  override async fork(options: ForkOptions): Promise<Handle> {
    await super.fork(options)
    return new TestHandle(this.#engine, this.#crashing, this.#results, options.id)
  }

  override result(options: ResultOptions = {}): Promise<unknown> {
    return this.#results.watch(this.id, this.#result(options))
  }

  async #result(options: ResultOptions): Promise<unknown> {
    for (;;) {
      const engine = this.#engine()
      try {
        return await super.result(options)
      } catch (error) {
        if (!PerdureError.is(error, "ENGINE_CLOSED")) throw error
        await this.#crashing()
        await new Promise<void>((resolve) => macrotask(resolve))
        if (this.#engine() === engine) throw error
      }
    }
  }
}
