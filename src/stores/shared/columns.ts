import { fromText } from "./unsafe-text.ts"

/** A row as the driver returns it. If a column has another type than the schema says, that is a bug of ours, or the database is damaged. */
export type UntypedRow = Readonly<Record<string, unknown>>

export function integer(row: UntypedRow, column: string): number {
  const value = row[column]
  if (typeof value !== "number") throw new Error(`column ${column} holds no number`)
  return value
}

export function text(row: UntypedRow, column: string): string {
  const value = row[column]
  if (typeof value !== "string") throw new Error(`column ${column} holds no text`)
  return fromText(value)
}

export function optionalInteger(row: UntypedRow, column: string): number | undefined {
  return row[column] === null ? undefined : integer(row, column)
}

export function optionalText(row: UntypedRow, column: string): string | undefined {
  return row[column] === null ? undefined : text(row, column)
}
