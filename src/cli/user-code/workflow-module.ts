import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { fileURLToPath, pathToFileURL } from "node:url"
import { type AnyActivity, isActivity } from "../../core/workflow/activity.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import { definitionOf, givesDefinition, isDefinition } from "../../core/workflow/workflow-source.ts"
import type { EngineOptions } from "../../engine/settings.ts"
import { CommandError, exitCodes } from "../exit-code.ts"
import { isTypeScript, shownPath } from "./workflow-entry.ts"

/** The workflows and activities among the exports of a module, and the engine options in its default export. */
export interface WorkflowModule {
  readonly workflows: readonly AnyWorkflow[]
  readonly activities: readonly AnyActivity[]
  /** Without the activities. */
  readonly options: EngineOptions
}

/** Throws if the module has no workflow, unless `isForActivities` and it has an activity. */
export async function loadWorkflows(entry: string, cwd: string, { isForActivities = false } = {}): Promise<WorkflowModule> {
  const shown = shownPath(entry, cwd)
  const exported = await importModule(entry, cwd)
  const found = new Map<AnyWorkflow, string>()
  for (const [name, value] of Object.entries(exported)) collect(value, name, found)
  const activities = new Set<AnyActivity>()
  for (const value of Object.values(exported)) collectActivities(value, activities)
  if (found.size === 0 && !(isForActivities && activities.size > 0)) {
    const names = Object.keys(exported)
    const has = names.length === 0 ? "nothing" : names.map((name) => `"${name}"`).join(", ")
    throw new CommandError(
      "NO_WORKFLOWS",
      exitCodes.usage,
      `${shown} exports no workflow (it exports ${has}); export the result of workflow(…) or defineActivity(…), or a class that extends BaseWorkflow, by a name, as the default, or in an array`,
    )
  }
  refuseTwins(found, shown)
  return { workflows: [...found.keys()], activities: [...activities], options: optionsOf(exported["default"]) }
}

/** Imports a module of the user. Throws an error that says where the module is wrong. */
export async function importModule(entry: string, cwd: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(entry).href)) as Readonly<Record<string, unknown>>
  } catch (error) {
    throw notLoaded(entry, shownPath(entry, cwd), cwd, error)
  }
}

/** `export default { workflows, codec, maxConcurrentSteps … }`. */
function optionsOf(value: unknown): EngineOptions {
  if (typeof value !== "object" || value === null || !("workflows" in value || "activities" in value)) return {}
  // The command decides about the database and the role.
  const {
    workflows: _,
    activities: _____,
    store: __,
    role: ___,
    log: ____,
    ...options
  } = value as EngineOptions & Record<"workflows" | "store" | "role" | "log", unknown>
  return options
}

/** Collects a workflow, an array of workflows, or an object with workflows under `workflows`. */
function collect(value: unknown, name: string, found: Map<AnyWorkflow, string>): void {
  if (isDefinition(value) || givesDefinition(value)) {
    const workflow = definitionOf(value)
    if (!found.has(workflow)) found.set(workflow, name)
  } else if (Array.isArray(value)) value.forEach((one, index) => collect(one, `${name}[${index}]`, found))
  else if (typeof value === "object" && value !== null && "workflows" in value) collect(value.workflows, `${name}.workflows`, found)
}

/** Collects an activity, an array of activities, or an object with activities under `activities`. */
function collectActivities(value: unknown, found: Set<AnyActivity>): void {
  if (isActivity(value)) found.add(value)
  else if (Array.isArray(value)) for (const one of value as readonly unknown[]) collectActivities(one, found)
  else if (typeof value === "object" && value !== null && "activities" in value) collectActivities(value.activities, found)
}

function refuseTwins(found: ReadonlyMap<AnyWorkflow, string>, shown: string): void {
  const names = new Map<string, string>()
  for (const [{ name, version }, exported] of found) {
    const key = `${name}@${version}`
    const other = names.get(key)
    if (other !== undefined)
      throw new CommandError(
        "DUPLICATE_WORKFLOW",
        exitCodes.usage,
        `${shown} has two definitions of workflow "${name}", version "${version}": "${other}" and "${exported}"; give one of them another version`,
      )
    names.set(key, exported)
  }
}

function notLoaded(entry: string, shown: string, cwd: string, error: unknown): CommandError {
  const place = placeOf(error, cwd) ?? (error instanceof SyntaxError ? checkedPlace(entry, cwd, error) : undefined)
  const text = error instanceof Error ? `${error.name}: ${messageOf(error)}` : String(error)
  return new CommandError("NOT_LOADED", exitCodes.usage, `${shown} could not be loaded: ${place === undefined ? "" : `${place}: `}${text}`, { cause: error })
}

// Older versions of Node draw the place into the message.
const drawnPlace = /,-\[(\d+):\d+\]/

function messageOf({ message }: Error): string {
  return drawnPlace.test(message) ? (message.split("\n")[0] ?? "").replace(/^\s*x /, "") : message
}

/** The place of an error in the files of the user: the first line of the stack of a syntax error, or the first frame outside of Node. */
function placeOf(error: unknown, cwd: string): string | undefined {
  if (!(error instanceof Error) || error.stack === undefined) return undefined
  const [first = ""] = error.stack.split("\n")
  const head = /^(?<path>(?:file:\/\/)?\/.*|[A-Z]:\\.*):(?<line>\d+)$/.exec(first)?.groups
  const frame = /(?<path>file:\/\/[^\s)]+?):(?<line>\d+):\d+\)?$/m.exec(error.stack)?.groups
  const found = head ?? frame
  if (!found) return undefined
  const path = found["path"] ?? ""
  const file = path.startsWith("file:") ? fileURLToPath(path) : path
  return file.includes("node_modules") || isOurs(file) ? undefined : `${shownPath(file, cwd)}:${found["line"]}`
}

function isOurs(file: string): boolean {
  return file === fileURLToPath(import.meta.url)
}

/** Node prints the place of a syntax error in JavaScript only to its console. Older versions draw the place into the message for TypeScript, without the file. */
function checkedPlace(entry: string, cwd: string, error: SyntaxError): string | undefined {
  const shown = shownPath(entry, cwd)
  const [, drawn] = drawnPlace.exec(error.message) ?? []
  if (isTypeScript(entry)) return drawn !== undefined && !canStrip(entry) ? `${shown}:${drawn}` : undefined
  const { stderr } = spawnSync(process.execPath, ["--check", entry], { encoding: "utf8", timeout: 10_000 })
  const [, line] = /:(\d+)$/.exec(stderr.split("\n").find((text) => text.includes(entry)) ?? "") ?? []
  return line === undefined ? undefined : `${shown}:${line}`
}

/** Whether this module can be parsed. If so, the error is in a module that it imports. */
function canStrip(file: string): boolean {
  try {
    stripTypeScriptTypes(readFileSync(file, "utf8"))
    return true
  } catch {
    return false
  }
}
