import type { WorkflowSpec } from "../../dialects/cloudflare-workflows/workflow-definition.ts"
import { WorkflowEntrypoint, type WorkflowEntrypointClass } from "../../dialects/cloudflare-workflows/workflow-entrypoint.ts"
import { CommandError, exitCodes } from "../exit-code.ts"
import { shownPath } from "../user-code/workflow-entry.ts"
import { importModule } from "../user-code/workflow-module.ts"
import { registerBundlerHooks } from "./bundler-hooks.ts"
import { ownWorkflows } from "./worker-env.ts"
import type { WorkerSettings, WorkflowSettings } from "./worker-settings.ts"

/** The module of a Worker. */
export interface WorkerModule {
  /** The classes of its workflows with their settings, by the names of their bindings. */
  readonly workflows: Readonly<Record<string, WorkflowSpec>>
  /** The handlers of the Worker: an object, or a class that extends WorkerEntrypoint. Undefined: it has none. */
  readonly handlers: unknown
}

/** Loads the module that `main` names. Modules of Cloudflare resolve from here on. */
export async function loadWorker(settings: WorkerSettings, cwd: string): Promise<WorkerModule> {
  await import("../../cloudflare-workflows-register.ts")
  const isCompiled = await registerBundlerHooks(settings.file.folder)
  const exported = await importModule(settings.main, cwd).catch((error: unknown) => {
    throw isCompiled ? error : withCompilerHint(error)
  })
  const shown = shownPath(settings.main, cwd)
  const own = ownWorkflows(settings)
  if (own.length === 0)
    throw new CommandError(
      "NO_WORKFLOWS",
      exitCodes.usage,
      `${settings.file.shown} names no workflow of this Worker; add it under "workflows": [{ "binding", "name", "class_name" }]`,
    )
  return {
    workflows: Object.fromEntries(own.map((workflow) => [workflow.binding, specOf(workflow, exported, shown, settings)])),
    handlers: exported["default"],
  }
}

/** Node only strips types. The advice is for what it cannot load for that reason. */
function withCompilerHint(error: unknown): unknown {
  if (!(error instanceof CommandError) || !/does not provide an export named|strip-only mode|Unknown file extension ".(tsx|jsx)"/.test(error.message))
    return error
  const message = `${error.message}; npm install --save-dev esbuild, and it loads as in wrangler (Node alone only strips types)`
  return new CommandError(error.code, error.exitCode, message, { cause: error.cause })
}

function specOf(workflow: WorkflowSettings, exported: Readonly<Record<string, unknown>>, shown: string, { file }: WorkerSettings): WorkflowSpec {
  const { name, className, limits, concurrency, schedules, retention } = workflow
  if (!Object.hasOwn(exported, className)) {
    const names = Object.keys(exported)
    const has = names.length === 0 ? "nothing" : names.map((one) => `"${one}"`).join(", ")
    throw new CommandError(
      "NO_CLASS",
      exitCodes.usage,
      `${shown} does not export the class "${className}" of the workflow "${name}" (it exports ${has}); export it, or correct "class_name" in ${file.shown}`,
    )
  }
  const found = exported[className]
  if (!isEntrypoint(found))
    throw new CommandError(
      "NOT_A_WORKFLOW",
      exitCodes.usage,
      `"${className}" of ${shown} is no class of a workflow; it has to extend WorkflowEntrypoint of "cloudflare:workers" and have a method run(event, step)`,
    )
  return {
    class: found,
    name,
    ...(limits === undefined ? undefined : { limits }),
    ...(concurrency === undefined ? undefined : { concurrency }),
    ...(schedules === undefined ? undefined : { schedules }),
    ...(retention === undefined ? undefined : { default_retention: retention }),
  }
}

/** The class may extend the WorkflowEntrypoint of another copy of this package. */
function isEntrypoint(value: unknown): value is WorkflowEntrypointClass {
  if (typeof value !== "function" || typeof (value.prototype as { run?: unknown } | undefined)?.run !== "function") return false
  for (let base = Object.getPrototypeOf(value) as unknown; typeof base === "function"; base = Object.getPrototypeOf(base) as unknown) {
    if (base === WorkflowEntrypoint || base.name === "WorkflowEntrypoint") return true
  }
  return false
}
