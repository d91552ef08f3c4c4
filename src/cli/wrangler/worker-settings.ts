import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { CommandError, exitCodes } from "../exit-code.ts"
import type { Io } from "../io.ts"
import { shownPath } from "../user-code/workflow-entry.ts"
import { type BindingKind, bindingKinds } from "./binding-kinds.ts"
import { findWranglerFile, readWranglerFile, type WranglerFile } from "./wrangler-file.ts"

/** A Worker as wrangler.jsonc describes it. */
export interface WorkerSettings {
  readonly file: WranglerFile
  readonly name: string
  /** The module of the Worker. */
  readonly main: string
  readonly workflows: readonly WorkflowSettings[]
  readonly vars: Readonly<Record<string, unknown>>
  readonly bindings: readonly Binding[]
  readonly crons: readonly string[]
  readonly compatibilityDate: string | undefined
  readonly compatibilityFlags: readonly string[]
  /** The port of the Worker in `wrangler dev`. */
  readonly port: number | undefined
}

export interface WorkflowSettings {
  readonly binding: string
  readonly name: string
  readonly className: string
  /** The other Worker that has the class. Undefined: it is this Worker. */
  readonly otherWorker?: string
  readonly limits?: { readonly steps?: number }
  readonly concurrency?: number
  readonly schedules?: string | readonly string[]
  readonly retention?: { readonly successRetention?: number | string; readonly errorRetention?: number | string }
}

/** A binding that is neither a workflow nor a var. */
export interface Binding {
  readonly name: string
  readonly kind: BindingKind
  /** What the file says of it. */
  readonly options: Readonly<Record<string, unknown>>
}

/** The environment of the file that the user chose. As in wrangler, a variable may choose it. */
export function environmentOf({ env }: Pick<Io, "env">, given: string | undefined): string | undefined {
  const chosen = given ?? env["CLOUDFLARE_ENV"]
  return chosen === "" ? undefined : chosen
}

/** Reads the settings of a Worker. Throws a `CommandError` for what is missing or wrong. */
export function readWorkerSettings(named: string, cwd: string, environment: string | undefined): WorkerSettings {
  const file = readWranglerFile(findWranglerFile(named, cwd), cwd, environment)
  const check = new Checked(file)
  const name = workerName(file, check)
  const bindings = bindingKinds.flatMap((kind) => bindingsOf(file, kind, check))
  const workflows = check.objects("workflows").map((entry, index) => workflowOf(entry, `workflows[${index}]`, name, check))
  const vars = check.object("vars")
  refuseTwins([...workflows.map(({ binding }) => binding), ...Object.keys(vars), ...bindings.map((binding) => binding.name)], file)
  refuseEqualNames(workflows, file)
  const triggers = Object(file.inherited("triggers")) as Record<string, unknown>
  return {
    file,
    name,
    main: mainOf(file, cwd),
    workflows,
    vars,
    bindings,
    crons: check.strings(triggers["crons"], "triggers.crons"),
    compatibilityDate: check.optional(file.inherited("compatibility_date"), "string", "compatibility_date"),
    compatibilityFlags: check.strings(file.inherited("compatibility_flags"), "compatibility_flags"),
    port: check.optional((Object(file.inherited("dev")) as Record<string, unknown>)["port"], "number", "dev.port"),
  }
}

function workerName(file: WranglerFile, check: Checked): string {
  const own = check.optional(file.own("name"), "string", "name")
  const top = own ?? check.optional(file.inherited("name"), "string", "name") ?? "worker"
  return own === undefined && file.environment !== undefined ? `${top}-${file.environment}` : top
}

function mainOf(file: WranglerFile, cwd: string): string {
  const main = file.inherited("main")
  if (typeof main !== "string")
    throw new CommandError(
      "NO_MAIN",
      exitCodes.usage,
      `${file.shown} has no "main"; add the path of the module that exports your workflows: "main": "src/index.ts"`,
    )
  const path = resolve(file.folder, main)
  if (!existsSync(path))
    throw new CommandError("NO_MAIN", exitCodes.usage, `"main" of ${file.shown} is "${main}", but there is no file ${shownPath(path, cwd)}; correct the path`)
  return path
}

function workflowOf(entry: Readonly<Record<string, unknown>>, place: string, worker: string, check: Checked): WorkflowSettings {
  const steps = check.optional((Object(entry["limits"]) as Record<string, unknown>)["steps"], "number", `${place}.limits.steps`)
  const { limit } = Object(entry["concurrency"]) as Record<string, unknown>
  const concurrency = check.optional(limit, "number", `${place}.concurrency.limit`)
  const script = check.optional(entry["script_name"], "string", `${place}.script_name`)
  const { schedules } = entry
  if (schedules !== undefined && typeof schedules !== "string") check.strings(schedules, `${place}.schedules`)
  const retention = retentionOf(Object(entry["default_retention"]) as Record<string, unknown>)
  return {
    binding: check.text(entry["binding"], `${place}.binding`),
    name: check.text(entry["name"], `${place}.name`),
    className: check.text(entry["class_name"], `${place}.class_name`),
    ...(script === undefined || script === worker ? undefined : { otherWorker: script }),
    ...(steps === undefined ? undefined : { limits: { steps } }),
    ...(concurrency === undefined ? undefined : { concurrency }),
    ...(schedules === undefined ? undefined : { schedules: schedules as string | readonly string[] }),
    ...(retention === undefined ? undefined : { retention }),
  }
}

function retentionOf({ success_retention: success, error_retention: error }: Readonly<Record<string, unknown>>): WorkflowSettings["retention"] {
  if (success === undefined && error === undefined) return undefined
  return {
    ...(success === undefined ? undefined : { successRetention: success as number | string }),
    ...(error === undefined ? undefined : { errorRetention: error as number | string }),
  }
}

function bindingsOf(file: WranglerFile, kind: BindingKind, check: Checked): Binding[] {
  const nameKey = kind.nameKey ?? "binding"
  const value = file.own(kind.key)
  if (value === undefined) return []
  // Some kinds have one binding, and no list. The assets of a Worker need no binding.
  if (!Array.isArray(value)) {
    const options = Object(value) as Record<string, unknown>
    const name = check.optional(options[nameKey], "string", `${kind.key}.${nameKey}`)
    return name === undefined ? [] : [{ name, kind, options }]
  }
  return check.objects(kind.key).map((options, index) => ({ name: check.text(options[nameKey], `${kind.key}[${index}].${nameKey}`), kind, options }))
}

function refuseTwins(names: readonly string[], file: WranglerFile): void {
  const twin = names.find((name, index) => names.indexOf(name) !== index)
  if (twin !== undefined)
    throw new CommandError(
      "DUPLICATE_BINDING",
      exitCodes.usage,
      `${file.shown} has two bindings "${twin}"; give one of them another name: a Worker finds both as env.${twin}`,
    )
}

/** Two bindings to one workflow would be two definitions of one name. */
function refuseEqualNames(workflows: readonly WorkflowSettings[], file: WranglerFile): void {
  const own = workflows.filter(({ otherWorker }) => otherWorker === undefined)
  const twin = own.find(({ name }, index) => own.findIndex((other) => other.name === name) !== index)
  if (twin !== undefined)
    throw new CommandError("DUPLICATE_WORKFLOW", exitCodes.usage, `${file.shown} has two workflows with the name "${twin.name}"; give one of them another name`)
}

/** Takes settings of the file, and names the place of each that has another type. */
class Checked {
  readonly #file: WranglerFile

  constructor(file: WranglerFile) {
    this.#file = file
  }

  text(value: unknown, place: string): string {
    if (typeof value === "string" && value !== "") return value
    throw this.#wrong(place, "a text that is not empty", value)
  }

  optional(value: unknown, type: "string", place: string): string | undefined
  optional(value: unknown, type: "number", place: string): number | undefined
  optional(value: unknown, type: "string" | "number", place: string): unknown {
    if (value === undefined || typeof value === type) return value
    throw this.#wrong(place, type === "string" ? "a text" : "a number", value)
  }

  strings(value: unknown, place: string): readonly string[] {
    if (value === undefined) return []
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value
    throw this.#wrong(place, "a list of texts", value)
  }

  object(key: string): Readonly<Record<string, unknown>> {
    const value = this.#file.own(key) ?? {}
    if (typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>
    throw this.#wrong(key, "an object", value)
  }

  objects(key: string): readonly Readonly<Record<string, unknown>>[] {
    const value = this.#file.own(key) ?? []
    if (Array.isArray(value) && value.every((one) => typeof one === "object" && one !== null)) return value as Record<string, unknown>[]
    throw this.#wrong(key, "a list of objects", value)
  }

  #wrong(place: string, wanted: string, value: unknown): CommandError {
    const found = value === undefined ? "but it is missing" : `not ${JSON.stringify(value)}`
    return new CommandError("BAD_WRANGLER_FILE", exitCodes.usage, `${place} of ${this.#file.shown} has to be ${wanted}, ${found}`)
  }
}
