import type { PgRow } from "../connection/database.ts"

export { integer, optionalInteger, optionalText, text } from "../../shared/columns.ts"

/** Reads an array. */
export function list<T extends string | number | boolean>(row: PgRow | undefined, column: string): readonly T[] {
  const value = row?.[column]
  if (value === null || value === undefined) return []
  if (!Array.isArray(value)) throw new Error(`column ${column} holds no list`)
  return value as T[]
}
