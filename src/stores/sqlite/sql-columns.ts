import type { SqlRow } from "../../ports/sql-driver.ts"
import { fromText } from "../odd-text.ts"

/** Columns come back untyped. A column of another type than the schema says is our own bug, or damage. */

export function integer(row: SqlRow, column: string): number {
  const value = row[column]
  if (typeof value !== "number") throw new Error(`column ${column} holds no integer`)
  return value
}

export function text(row: SqlRow, column: string): string {
  const value = row[column]
  if (typeof value !== "string") throw new Error(`column ${column} holds no text`)
  return fromText(value)
}

export function bytes(row: SqlRow, column: string): Uint8Array {
  const value = row[column]
  if (!(value instanceof Uint8Array)) throw new Error(`column ${column} holds no bytes`)
  return value
}

export function optionalInteger(row: SqlRow, column: string): number | undefined {
  return row[column] === null ? undefined : integer(row, column)
}

export function optionalText(row: SqlRow, column: string): string | undefined {
  return row[column] === null ? undefined : text(row, column)
}
