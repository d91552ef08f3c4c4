import { setCurrentProgram } from "../../dialects/cloudflare-workflows/modules/current-program.ts"
import { executionContext } from "../../dialects/cloudflare-workflows/execution-context.ts"
import { program } from "../../dialects/cloudflare-workflows/workflow-program.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { PublicEngine } from "../../engine/public-engine.ts"
import type { PerdureOptions } from "../../index.ts"
import type { MiniflareBindings } from "./miniflare-bindings.ts"
import { laterBinding } from "./missing-binding.ts"
import { type BindingReport, ownWorkflows, whyMissingInDev, workerEnv } from "./worker-env.ts"
import { loadWorker, type WorkerModule } from "./worker-module.ts"
import type { Binding, WorkerSettings } from "./worker-settings.ts"

/** A Worker whose workflows are executed. */
export interface OpenWorker {
  readonly engine: PublicEngine
  /** What its handlers get. */
  readonly env: Readonly<Record<string, unknown>>
  readonly module: WorkerModule
  readonly reports: readonly BindingReport[]
  /** Definitions for a check of journals. */
  readonly workflows: readonly AnyWorkflow[]
}

/** Loads a Worker and opens an engine with its workflows. The bindings of miniflare become a part of its `env`. */
export async function openWorker(
  settings: WorkerSettings,
  cwd: string,
  { supplied, missing }: Pick<MiniflareBindings, "supplied" | "missing">,
  options: Omit<PerdureOptions, "workflows" | "retry"> & Required<Pick<PerdureOptions, "log">>,
): Promise<OpenWorker> {
  const { env: given, reports } = workerEnv(settings, supplied, (binding) => missing.get(binding.name) ?? whyMissingInDev(binding))
  const opened: { env?: Readonly<Record<string, unknown>> } = {}
  announceEnv(settings, given, (binding) => opened.env?.[binding] as object | undefined)
  const module = await loadWorker(settings, cwd)
  const { openWorkflows } = await import("../../cloudflare-workflows.ts")
  const { env, engine } = await openWorkflows({ ...options, workflows: module.workflows, env: given })
  opened.env = env
  const workflows = definitions(module, { ...env }, () => engine)
  return { engine, env, module, reports, workflows }
}

/** Loads a Worker for a check: it has no engine, and no binding works. */
export async function loadCheckableWorkflows(settings: WorkerSettings, cwd: string): Promise<readonly AnyWorkflow[]> {
  const { env } = workerEnv(settings, {}, whyMissingInCheck)
  announceEnv(settings, env, () => undefined)
  return definitions(await loadWorker(settings, cwd), env, () => Promise.reject(new Error("perdure check calls no instances")))
}

/**
 * Modules may read `env` of "cloudflare:workers" while they are loaded. The workflows are in it from the start, and work later. With Node's modules, vars are
 * also in `process.env`, unless the process has a variable of that name.
 */
function announceEnv(settings: WorkerSettings, given: Readonly<Record<string, unknown>>, find: (binding: string) => object | undefined): void {
  if (settings.compatibilityFlags.includes("nodejs_compat")) for (const [name, value] of textVars(given)) process.env[name] ??= value
  const later = ownWorkflows(settings).map(({ binding }): [string, unknown] => [binding, laterBinding(binding, () => find(binding))])
  setCurrentProgram({ env: { ...given, ...Object.fromEntries<unknown>(later) }, exports: {} })
}

function textVars(env: Readonly<Record<string, unknown>>): readonly (readonly [string, string])[] {
  return Object.entries(env).flatMap(([name, value]) => (typeof value === "string" ? [[name, value] as const] : []))
}

function definitions({ workflows: sources }: WorkerModule, given: object, client: Parameters<typeof program>[2]): readonly AnyWorkflow[] {
  const {
    definitions: found,
    bindings,
    exports,
    workflows,
  } = program(sources, {}, client, () => ({
    env: { ...given, ...bindings },
    ctx: executionContext(exports, console),
    workflows,
  }))
  return found
}

function whyMissingInCheck({ name, kind }: Binding): string {
  return `perdure check has no bindings, and env.${name} (${kind.label}) is used outside of a step; use it inside of step.do`
}
