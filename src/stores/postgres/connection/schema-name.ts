import { PerdureError } from "../../../core/errors.ts"
import { shown } from "../../../core/workflow/input-limits.ts"

/** The quoted name of a schema, for statements. Throws what `checkSchemaName` throws. */
export function quotedSchema(schema: string): string {
  checkSchemaName(schema)
  return `"${schema}"`
}

/** Throws `BAD_OPTION` for other names. Names of channels and statements contain the schema's name. */
export function checkSchemaName(schema: unknown): void {
  if (typeof schema === "string" && /^[A-Za-z_][A-Za-z0-9_]{0,39}$/.test(schema) && !/^pg_/i.test(schema)) return
  throw new PerdureError("BAD_OPTION", `schema is ${shown(schema)}; give a name of at most 40 letters, digits and underscores`)
}
