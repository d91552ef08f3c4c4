/**
 * Writes arrays as PostgreSQL reads them. The driver could do it, but it examines every element several times: for a batch of turns that costs more than all
 * other work for the batch in this process.
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

/** Joins all texts at once: a text that is appended to piece by piece leaves garbage, and is copied once more when it is sent. */
function enclosed(open: string, values: readonly unknown[], separator: string, close: string): string {
  const texts = values.slice()
  texts[0] = `${open}${String(texts[0])}`
  texts[texts.length - 1] = `${String(texts.at(-1))}${close}`
  return texts.join(separator)
}

/** A separator that none of these texts contains. JSON contains no control characters. */
export function separatorOf(...columns: readonly (readonly (string | null)[])[]): string {
  let separator = "\u001f"
  while (columns.some((values) => values.some((value) => value?.includes(separator)))) separator += "\u001e\u001f"
  return separator
}

/**
 * Joins texts that are full of quotes, such as JSON, into one text with a separator before each of them. In an array, every quote would be escaped. Null becomes
 * an empty text. SQL reads the result by `(string_to_array($1, $2, ''))[2:]`, which is empty if there are no texts.
 */
export function joinedTexts(values: readonly (string | null)[], separator: string): string {
  return values.length === 0 ? "" : [""].concat(values as string[]).join(separator)
}
