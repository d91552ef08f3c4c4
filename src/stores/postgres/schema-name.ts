import { PerdureError } from "../../core/errors.ts"

/** Channels and names of statements are made of it. */
export function checkSchemaName(schema: unknown): void {
  if (typeof schema === "string" && /^[A-Za-z_][A-Za-z0-9_]{0,39}$/.test(schema) && !/^pg_/i.test(schema)) return
  throw new PerdureError("BAD_OPTION", `schema is a name of at most 40 letters, digits and underscores, not ${JSON.stringify(schema)}`)
}
