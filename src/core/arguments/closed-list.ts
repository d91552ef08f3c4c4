import { PerdureError } from "../errors.ts"
import { shown } from "../workflow/input-limits.ts"

/** One of a few words, whatever a caller without types gives. What it returns is text of the list, so that it may become part of a statement. */
export function oneOf<const Word extends string>(option: string, value: unknown, words: readonly Word[]): Word {
  const found = words.find((word) => word === value)
  if (found !== undefined) return found
  const listed = words.map((word) => `"${word}"`).join(", ")
  throw new PerdureError("BAD_OPTION", `${option} is ${shown(value)}; give one of ${listed}`, { details: { option } })
}
