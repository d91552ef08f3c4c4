import { PerdureError } from "../errors.ts"
import { nearestName } from "../arguments/nearest-name.ts"
import type { WorkflowSettings } from "./workflow.ts"

/** The types of events that a workflow declares. Undefined: it declares none, and its instances accept any event. */
export function declaredEvents(options: WorkflowSettings | undefined): readonly string[] | undefined {
  return options?.events && Object.keys(options.events)
}

/** Whether an instance with these declared events accepts an event of this type. */
export function takesEvent(declared: readonly string[] | undefined, type: string): boolean {
  return declared === undefined || declared.includes(type)
}

export function unknownEvent(
  instance: { readonly id: string; readonly workflow: string; readonly events?: readonly string[] | undefined },
  type: string,
): PerdureError {
  const { events: declared = [] } = instance
  const nearest = nearestName(type, declared)
  const known = declared.length === 0 ? "no events" : declared.map((name) => JSON.stringify(name)).join(", ")
  const advice = nearest === undefined ? "" : `; did you mean ${JSON.stringify(nearest)}?`
  return new PerdureError(
    "UNKNOWN_EVENT",
    `instance "${instance.id}" takes no event ${JSON.stringify(type)}: its workflow "${instance.workflow}" declares ${known}${advice}`,
    { details: { instance: instance.id, workflow: instance.workflow, event: type, declared, ...(nearest === undefined ? undefined : { nearest }) } },
  )
}
