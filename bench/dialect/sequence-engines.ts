// The engines on SQLite that run sequences: one with the native API, and one with the class of a program for Cloudflare Workflows.

import { openWorkflows, WorkflowEntrypoint } from "perdure/cloudflare-workflows"
import { sequence } from "../bench-workflows.ts"
import { openEngine, storeOnDisk } from "../engine-on-disk.ts"
import { sequenceClass } from "./sequence-class.ts"

export interface SequenceEngine extends AsyncDisposable {
  /** Runs an instance of so many steps, from its start to its result. */
  run(steps: number): Promise<void>
}

const Sequence = sequenceClass(WorkflowEntrypoint)

export async function openNative(folder: string): Promise<SequenceEngine> {
  const engine = await openEngine(folder)
  return {
    async run(steps) {
      const handle = await engine.start(sequence, { input: steps })
      check(await handle.result(), steps)
    },
    [Symbol.asyncDispose]: () => engine.close(),
  }
}

/** The bindings of Cloudflare Workflows tell nobody of a result, so it is awaited with the engine's own API. Polling would be measured as well. */
export async function openDialect(folder: string): Promise<SequenceEngine> {
  const { env, engine } = await openWorkflows({ store: storeOnDisk(folder), workflows: { SEQUENCE: Sequence } })
  return {
    async run(steps) {
      const { id } = await env.SEQUENCE.create({ params: { steps } })
      check(await engine.get(`sequence:${id}`).result(), steps)
    },
    [Symbol.asyncDispose]: () => engine.close(),
  }
}

/** Milliseconds from the first start to the last result of instances that are started at once. */
export async function timeOf(engine: SequenceEngine, instances: number, steps: number): Promise<number> {
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: instances }, () => engine.run(steps)))
  return performance.now() - startedAt
}

function check(result: unknown, steps: number): void {
  if (result !== steps) throw new Error(`the result is ${String(result)}`)
}
