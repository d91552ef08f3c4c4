import { fromText } from "../odd-text.ts"
import type { PgRow } from "./database.ts"

/** Columns come back untyped. A column of another type than the schema says is our own bug, or damage. */

export function integer(row: PgRow, column: string): number {
  const value = row[column]
  if (typeof value !== "number") throw new Error(`column ${column} holds no number`)
  return value
}

export function text(row: PgRow, column: string): string {
  const value = row[column]
  if (typeof value !== "string") throw new Error(`column ${column} holds no text`)
  return fromText(value)
}

export function optionalInteger(row: PgRow, column: string): number | undefined {
  return row[column] === null ? undefined : integer(row, column)
}

export function optionalText(row: PgRow, column: string): string | undefined {
  return row[column] === null ? undefined : text(row, column)
}

/** Of arrays and of what functions answer. */
export function list<T extends string | number | boolean>(row: PgRow | undefined, column: string): readonly T[] {
  const value = row?.[column]
  if (value === null || value === undefined) return []
  if (!Array.isArray(value)) throw new Error(`column ${column} holds no list`)
  return value as T[]
}
