import type { AnyWorkflow } from "../../src/core/workflow/workflow.ts"
import { Engine } from "../../src/engine/engine.ts"
import type { EngineOptions } from "../../src/engine/settings.ts"
import { macrotask, SimulatedHost } from "../../src/hosts/simulated/simulated-host.ts"
import type { StoreProvider, StoreRole } from "../../src/ports/store.ts"
import type { TestDatabase } from "../../tools/postgres/test-database.ts"

interface ClusterOptions extends EngineOptions {
  /** Called with the store of the engine with that number. The engine uses the store that it returns. */
  readonly wrap?: (store: StoreProvider, engine: number) => StoreProvider
}

/** Engines on one empty store that share a virtual clock. Calls of the store take real time. */
export class ClusterBed {
  readonly #database: TestDatabase
  readonly #engines: Engine[] = []

  constructor(database: TestDatabase) {
    this.#database = database
  }

  readonly open = async (workflows: readonly AnyWorkflow[], roles: readonly StoreRole[], { wrap = (store) => store, ...options }: ClusterOptions = {}) => {
    const host = new SimulatedHost()
    const schema = await this.#database.emptySchema()
    const engines: Engine[] = []
    // One after another, because each engine would create the schema.
    for (const [index, role] of roles.entries())
      engines.push(await Engine.open({ host, store: wrap(this.#database.store(schema), index), workflows, options, role }))
    this.#engines.push(...engines)
    const idle = () => engines.every(({ components }) => components.worker.idle && components.scheduler.idle)
    const settle = async () => {
      for (let quiet = 0; quiet < 20;) {
        await new Promise<void>((resolve) => macrotask(resolve))
        quiet = idle() ? quiet + 1 : 0
      }
    }
    const skip = (ms: number) => host.advanceTo(host.now() + ms, settle)
    return { host, schema, engines, settle, skip }
  }

  async close(): Promise<void> {
    for (const engine of this.#engines.splice(0)) {
      await engine.close()
      // An engine that was killed has left the store open.
      await engine.components.store.close()
    }
    this.#database.reset()
  }
}
