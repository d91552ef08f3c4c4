import type { DurableObjectNamespace } from "cloudflare:workers"
import { workflowClient } from "perdure/cloudflare"
import type { IndexUpdate } from "../../src/ports/cloudflare/index-shard.ts"
import type { JournalRow } from "../../src/ports/journal-store.ts"
import { fan, listener, sequence } from "../bench-workflows.ts"
import type { BareObject } from "./bare-object.ts"
import { type ObjectEngine, wait, type WorkerEnv } from "./object-engine.ts"

type Rows = readonly JournalRow[]

interface Captured {
  /** The rows of whole instances, by workflow and number of steps. */
  readonly whole: ReadonlyMap<string, Rows>
  readonly afterEvent: Rows
}

/** Captured once for a Worker: workflows that run between two rounds would be measured with these rounds. */
let captured: Captured | undefined

/** The bare object, which gets the rows that the engine wrote for the same workload. */
export class BareEngine implements ObjectEngine {
  readonly #env: WorkerEnv

  constructor(env: WorkerEnv) {
    this.#env = env
  }

  async prepare(): Promise<void> {
    captured ??= await this.#capture()
  }

  async #capture(): Promise<Captured> {
    const client = workflowClient(this.#env.WORKFLOW_RUNNER)
    const kinds = [
      [sequence, 1],
      [sequence, 10],
      [sequence, 1_000],
      [fan, 100],
    ] as const
    const whole = new Map<string, Rows>()
    for (const [workflow, steps] of kinds) {
      const handle = await client.start(workflow, { input: steps })
      await handle.result()
      whole.set(`${workflow.name} ${steps}`, await this.#rowsOf(handle.id))
    }
    const handle = await client.start(listener, { input: 0 })
    while ((await handle.status()) !== "waiting") await wait(1)
    const before = (await this.#rowsOf(handle.id)).length
    await handle.sendEvent("go", 1)
    await handle.result()
    return { whole, afterEvent: (await this.#rowsOf(handle.id)).slice(before) }
  }

  async run(steps: number, isParallel = false): Promise<void> {
    await this.#object().create(this.#rows(isParallel ? fan.name : sequence.name, steps), true)
  }

  async runCoalesced(steps: number): Promise<void> {
    await this.#object().create(this.#rows(sequence.name, steps), false)
  }

  async runWatched(steps: number): Promise<void> {
    const object = this.#object()
    await object.createWatched(this.#rows(sequence.name, steps), newsOf(crypto.randomUUID()))
    await object.result()
  }

  async awaiting(): Promise<() => Promise<void>> {
    const object = this.#object()
    await object.create([], true)
    return () => object.append(captured?.afterEvent ?? [], true)
  }

  async sleep(ms: number): Promise<() => Promise<number>> {
    const lateMs = await this.#object().sleep(ms)
    return async () => lateMs
  }

  #rows(workflow: string, steps: number): Rows {
    const rows = captured?.whole.get(`${workflow} ${steps}`)
    if (rows === undefined) throw new Error(`no rows were captured of ${workflow} with ${steps} steps`)
    return rows
  }

  #object(): BareObject {
    return stubOf(this.#env.BARE, crypto.randomUUID()) as BareObject
  }

  async #rowsOf(id: string): Promise<Rows> {
    const object = stubOf(this.#env.WORKFLOW_RUNNER, id) as { peerReadJournal(id: string, from: number): Promise<Rows> }
    return object.peerReadJournal(id, 1)
  }
}

/** The update that the index gets for an instance that began and ended. */
function newsOf(id: string): IndexUpdate {
  const now = Date.now()
  const row: IndexUpdate["row"] = {
    id,
    incarnation: id,
    workflow: sequence.name,
    version: "1",
    createdAt: now,
    updatedAt: now,
    tags: [],
    status: "completed",
    run: 1,
    runPosition: 1,
  }
  const change = { run: 1, at: now }
  return {
    row,
    revision: 4,
    changes: [
      { ...change, position: 1, type: "workflow.started", data: {} },
      { ...change, position: 4, type: "workflow.completed", data: { status: "completed" } },
    ],
  }
}

function stubOf(namespace: DurableObjectNamespace, name: string): unknown {
  return namespace.get(namespace.idFromName(name))
}
