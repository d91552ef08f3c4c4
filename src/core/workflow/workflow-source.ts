import { PerdureError } from "../errors.ts"
import type { AnyWorkflow } from "./workflow.ts"

/** What an engine is given to execute: a definition, or something that gives one, such as a class of another dialect. */
export type WorkflowSource =
  | AnyWorkflow
  | {
      /** The definition that it stands for. */
      definition(): AnyWorkflow
    }

export function definitionOf(source: WorkflowSource): AnyWorkflow {
  if (isDefinition(source)) return source
  if (givesDefinition(source)) return source.definition()
  throw new PerdureError(
    "BAD_OPTION",
    "workflows contains a value that is not a workflow; pass the result of workflow(…), or a class that extends BaseWorkflow",
  )
}

/** Not by a brand: another copy of the package may have made it. */
export function isDefinition(value: unknown): value is AnyWorkflow {
  if (typeof value !== "object" || value === null) return false
  const { name, version, options, run } = value as Partial<Record<keyof AnyWorkflow, unknown>>
  return typeof name === "string" && typeof version === "string" && typeof options === "object" && typeof run === "function"
}

export function givesDefinition(value: unknown): value is { definition(): AnyWorkflow } {
  return (typeof value === "function" || typeof value === "object") && value !== null && "definition" in value && typeof value.definition === "function"
}
