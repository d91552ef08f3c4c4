import { PerdureError } from "../errors.ts"
import type { AnyWorkflow } from "./workflow.ts"

/** A workflow as engines accept it: a definition, or an object with a method `definition`, such as a workflow class. */
export type WorkflowSource =
  | AnyWorkflow
  | {
      /** Returns the definition. */
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

/** Recognises a definition by its shape, because another copy of the package may have made it. */
export function isDefinition(value: unknown): value is AnyWorkflow {
  if (typeof value !== "object" || value === null) return false
  const { name, version, options, run } = value as Partial<Record<keyof AnyWorkflow, unknown>>
  return typeof name === "string" && typeof version === "string" && typeof options === "object" && typeof run === "function"
}

export function givesDefinition(value: unknown): value is { definition(): AnyWorkflow } {
  return (typeof value === "function" || typeof value === "object") && value !== null && "definition" in value && typeof value.definition === "function"
}
