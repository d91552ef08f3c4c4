/**
 * Arrays as PostgreSQL reads them. The driver makes them as well, but looks at every element several times, which with a batch of turns
 * is more work than all else that is done for them here.
 */

const special = /["\\]/
const everySpecial = /["\\]/g

export function textArray(values: readonly (string | null)[]): string {
  if (values.length === 0) return "{}"
  if (values.every((value) => value !== null && !special.test(value))) return enclosed('{"', values, '","', '"}')
  const texts = values.map((value) => (value === null ? "NULL" : `"${value.replace(everySpecial, "\\$&")}"`))
  return enclosed("{", texts, ",", "}")
}

export function numberArray(values: readonly (number | null)[]): string {
  if (values.length === 0) return "{}"
  return enclosed("{", values.includes(null) ? values.map((value) => value ?? "NULL") : values, ",", "}")
}

/** As one text at once: what is put together piece by piece is garbage piece by piece, and is copied once more when it is sent. */
function enclosed(open: string, values: readonly unknown[], separator: string, close: string): string {
  const texts = values.slice()
  texts[0] = `${open}${String(texts[0])}`
  texts[texts.length - 1] = `${String(texts.at(-1))}${close}`
  return texts.join(separator)
}

/** Something that none of these texts contains. In JSON there are no control characters. */
export function separatorOf(...columns: readonly (readonly (string | null)[])[]): string {
  let separator = "\u001f"
  while (columns.some((values) => values.some((value) => value?.includes(separator)))) separator += "\u001e\u001f"
  return separator
}

/**
 * Texts full of quotes, such as JSON: as one text that a separator goes before each of, where an array would want every quote escaped. Null is nothing
 * at all. In SQL it is `(string_to_array($1, $2, ''))[2:]`, which is empty where there is none.
 */
export function joinedTexts(values: readonly (string | null)[], separator: string): string {
  return values.length === 0 ? "" : [""].concat(values as string[]).join(separator)
}
