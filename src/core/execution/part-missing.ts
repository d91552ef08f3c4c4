import { PerdureError } from "../errors.ts"

/** Where something is wanted that a runner was made without. */
export function partMissing(part: string, what: string): PerdureError {
  return new PerdureError(
    "PART_MISSING",
    `${what} needs the part "${part}", which this runner was made without; import it from perdure/cloudflare and say composeWorkflowRunner({ parts: [${part}] }), or use createWorkflowRunner, which has all`,
    { details: { part } },
  )
}

/** The same, as it came from another object, where it has lost its class. To ask again would be of no use. */
export function missingElsewhere(error: unknown): PerdureError | undefined {
  if (typeof error !== "object" || error === null || (error as { readonly code?: unknown }).code !== "PART_MISSING") return undefined
  const { message, details } = error as PerdureError
  return new PerdureError("PART_MISSING", message, { details })
}
