import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { text } from "node:stream/consumers"
import { durationMs, type Duration } from "../core/time/duration.ts"
import { instant } from "../core/time/instant.ts"
import { usageError } from "./exit-code.ts"
import type { Io } from "./io.ts"

/** Parsers of option values. */

export function wholeNumber(option: string, min = 1): (value: string) => number {
  return (value) => {
    const number = Number(value)
    if (/^-?\d+$/.test(value) && Number.isSafeInteger(number) && number >= min) return number
    throw usageError(`${option} needs a whole number of at least ${min}, not "${value}"`)
  }
}

/** Parses a duration to milliseconds. */
export function duration(option: string): (value: string) => number {
  return (value) => durationMs(value as Duration, option)
}

/** Parses an instant: ISO 8601, or a duration before now (`2h`, `7d`). */
export function pastInstant(option: string, now: () => number): (value: string) => number {
  return (value) => {
    if (/^\d+(\.\d+)? ?[a-z]+$/.test(value)) return now() - durationMs(value as Duration, option)
    try {
      return instant(value, option)
    } catch {
      throw usageError(`${option} is "${value}"; give a time such as 2026-01-31T12:00:00Z, or how long ago, such as 2h`)
    }
  }
}

/** Collects the values of an option that may be given several times. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

/** Reads a JSON value from an argument, from stdin (`-`) or from a file. Undefined if the user gives none. */
export async function jsonArgument(what: string, source: { readonly text?: string | undefined; readonly file?: string | undefined }, io: Io): Promise<unknown> {
  if (source.text !== undefined && source.file !== undefined) throw usageError(`give ${what} either as an argument or in a file, not both`)
  const json = source.file !== undefined ? readSource(source.file, io) : source.text === "-" ? await text(io.stdin) : source.text
  if (json === undefined) return undefined
  try {
    return JSON.parse(json) as unknown
  } catch (error) {
    const hint = source.text === undefined || source.text === "-" ? "" : `; a text needs double quotes inside the shell's: '${JSON.stringify(json)}'`
    throw usageError(`${what} is not JSON: ${error instanceof Error ? error.message : String(error)}${hint}`)
  }
}

function readSource(file: string, io: Io): string {
  try {
    return readFileSync(resolve(io.cwd, file), "utf8")
  } catch (error) {
    throw usageError(`"${file}" cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}
