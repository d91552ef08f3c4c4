import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { PublicEngine } from "../../engine/public-engine.ts"
import type { PerdureOptions } from "../../index.ts"
import { loadWorkflows } from "../user-code/workflow-module.ts"
import type { DevSettings, WorkerReport } from "./dev-message.ts"

/** The project that `perdure dev` executes: a module with workflows, or a Worker. */
export interface DevProject {
  readonly engine: PublicEngine
  readonly workflows: readonly AnyWorkflow[]
  readonly worker?: WorkerReport
}

export type DevOptions = Pick<PerdureOptions, "store" | "drain" | "onStoreGone"> & Required<Pick<PerdureOptions, "log">>

/** Loads the code of a project and executes it. What is to be closed at the end is pushed to `closers`, and closed in the reverse order. */
export async function openProject(settings: DevSettings, options: DevOptions, closers: (() => Promise<void>)[]): Promise<DevProject> {
  const { entry, cwd, worker } = settings
  if (worker !== undefined) return (await import("./dev-worker.ts")).openDevWorker(entry, cwd, worker, options, closers)
  const { workflows, activities, options: ofModule } = await loadWorkflows(entry, cwd)
  const { Perdure } = await import("../../index.ts")
  const engine = await Perdure.open({ ...ofModule, ...options, workflows, activities })
  closers.push(() => engine.close())
  return { engine, workflows }
}
