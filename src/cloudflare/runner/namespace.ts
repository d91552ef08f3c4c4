import { PerdureError } from "../../core/errors.ts"
import type { ObjectNamespace } from "../platform/platform.ts"

export function isNamespace(value: unknown): value is ObjectNamespace {
  return typeof value === "object" && value !== null && "idFromName" in value
}

export function namespaceOf(env: unknown, binding: string): ObjectNamespace {
  const found = (env as Record<string, unknown>)[binding]
  if (isNamespace(found)) return found
  throw new PerdureError(
    "BAD_OPTION",
    `the Worker has no Durable Object binding "${binding}"; add the binding to the configuration of the Worker, or give its name in the option binding`,
  )
}
