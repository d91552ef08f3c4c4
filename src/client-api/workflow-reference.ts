import type { AnyWorkflow } from "../core/workflow/workflow.ts"
import type { StartOptions } from "./client-api.ts"

/** The name of a workflow that is given as its definition or by its name. */
export function workflowName(workflow: AnyWorkflow | string): string {
  return typeof workflow === "string" ? workflow : workflow.name
}

/** The options of a start that follow from a definition: its own version, which the engine elsewhere need not know. */
export function definitionOptions(workflow: AnyWorkflow | string): Pick<StartOptions<unknown>, "version" | "allowUnknown"> {
  return typeof workflow === "string" ? {} : { version: workflow.version, allowUnknown: true }
}
