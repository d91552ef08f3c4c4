import { missingBinding } from "./missing-binding.ts"
import { readSecretVars } from "./secret-vars.ts"
import type { Binding, WorkerSettings, WorkflowSettings } from "./worker-settings.ts"

/** What a Worker finds in its `env`, for the summary of `perdure dev`. */
export interface BindingReport {
  readonly name: string
  /** What it is, such as "KV namespace". */
  readonly kind: string
  /** Where it comes from: `missing` if its first use throws. */
  readonly from: "here" | "miniflare" | "missing"
}

export interface WorkerEnv {
  /** Vars and bindings, without the workflows of this Worker. */
  readonly env: Readonly<Record<string, unknown>>
  readonly reports: readonly BindingReport[]
}

/** Puts the `env` of a Worker together. `supplied` has the bindings of miniflare; `whyMissing` says why another binding does not exist here. */
export function workerEnv(settings: WorkerSettings, supplied: Readonly<Record<string, unknown>>, whyMissing: (binding: Binding) => string): WorkerEnv {
  const vars = { ...settings.vars, ...readSecretVars(settings.file) }
  const env: Record<string, unknown> = { ...vars }
  const reports: BindingReport[] = []
  for (const { binding, name, className, otherWorker } of settings.workflows) {
    if (otherWorker !== undefined) env[binding] = missingBinding(binding, ofOtherWorker(binding, name, otherWorker))
    reports.push({
      name: binding,
      kind: `workflow ${name} (${className}${otherWorker === undefined ? "" : ` of ${otherWorker}`})`,
      from: otherWorker === undefined ? "here" : "missing",
    })
  }
  for (const binding of settings.bindings) {
    const isSupplied = Object.hasOwn(supplied, binding.name)
    env[binding.name] = isSupplied ? supplied[binding.name] : missingBinding(binding.name, whyMissing(binding))
    reports.push({ name: binding.name, kind: binding.kind.label, from: isSupplied ? "miniflare" : "missing" })
  }
  for (const name of Object.keys(vars)) reports.push({ name, kind: "var", from: "here" })
  return { env, reports }
}

/** Why a binding does not exist in `perdure dev`. */
export function whyMissingInDev({ name, kind }: Binding): string {
  return `env.${name} is a binding of the kind "${kind.label}", which perdure dev does not have; do without it while you develop, or run the code that needs it with wrangler dev`
}

function ofOtherWorker(binding: string, name: string, worker: string): string {
  return `env.${binding} is the workflow "${name}" of another Worker, "${worker}"; run it with the wrangler.jsonc of that Worker, and call it through its own fetch`
}

/** The workflows whose classes are in this Worker. */
export function ownWorkflows({ workflows }: WorkerSettings): readonly WorkflowSettings[] {
  return workflows.filter(({ otherWorker }) => otherWorker === undefined)
}
