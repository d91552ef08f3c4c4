import type { SqlRow } from "../../../ports/sql-driver.ts"

export { integer, optionalInteger, optionalText, text } from "../../shared/columns.ts"

export function bytes(row: SqlRow, column: string): Uint8Array {
  const value = row[column]
  if (!(value instanceof Uint8Array)) throw new Error(`column ${column} holds no bytes`)
  return value
}
