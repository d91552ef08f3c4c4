/**
 * Arrays as PostgreSQL reads them. The driver makes them as well, but looks at every element several times, which with a batch of turns
 * is more work than all else that is done for them here.
 */

const special = /["\\]/
const everySpecial = /["\\]/g

export function textArray(values: readonly (string | null)[]): string {
  if (values.length === 0) return "{}"
  // As one text at once: what is put together piece by piece is garbage piece by piece.
  if (values.every((value) => value !== null && !special.test(value))) return `{"${values.join('","')}"}`
  return `{${values.map((value) => (value === null ? "NULL" : `"${value.replace(everySpecial, "\\$&")}"`)).join(",")}}`
}

export function numberArray(values: readonly (number | null)[]): string {
  return `{${values.includes(null) ? values.map((value) => value ?? "NULL").join(",") : values.join(",")}}`
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
  return values.length === 0 ? "" : ["", ...values].join(separator)
}
