import { PerdureError } from "../errors.ts"
import { shown } from "../workflow/input-limits.ts"

/** Checks that a value is one of a few words. The result is the text of the list, not that of the caller, so it may become part of a statement. */
export function oneOf<const Word extends string>(option: string, value: unknown, words: readonly Word[]): Word {
  const found = words.find((word) => word === value)
  if (found !== undefined) return found
  const listed = words.map((word) => `"${word}"`).join(", ")
  throw new PerdureError("BAD_OPTION", `${option} is ${shown(value)}; give one of ${listed}`, { details: { option } })
}
