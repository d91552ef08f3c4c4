import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import { Engine } from "../../engine/engine.ts"
import type { TestEngine } from "../test-engine.ts"
import type { BedOptions, OpenBed } from "./scenario-bed.ts"

/** An engine, and a client on the same store as in another process, with workflows of its own. Close the client before the engine. */
export async function openWithClient(open: OpenBed, options: BedOptions, clientHas: readonly AnyWorkflow[]): Promise<{ engine: TestEngine; client: Engine }> {
  const engine = await open(options)
  const client = await Engine.open({ host: engine.host, store: engine.sharedStore, workflows: clientHas, options: {}, role: "client" })
  return { engine, client }
}

/** Lets the worker notice the writes of other processes: the hints of some stores arrive in real time. */
export async function noticed(engine: TestEngine): Promise<void> {
  await engine.settle()
  await engine.current.components.worker.refresh()
  await engine.settle()
}
