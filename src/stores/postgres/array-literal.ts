/**
 * Arrays as PostgreSQL reads them. The driver makes them as well, but looks at every element several times, which with a batch of turns
 * is more work than all else that is done for them here.
 */

const special = /["\\]/g

export function textArray(values: readonly (string | null)[]): string {
  let literal = "{"
  for (let at = 0; at < values.length; at++) {
    const value = values[at]!
    if (at > 0) literal += ","
    literal += value === null ? "NULL" : `"${value.replace(special, "\\$&")}"`
  }
  return `${literal}}`
}

export function numberArray(values: readonly (number | null)[]): string {
  let literal = "{"
  for (let at = 0; at < values.length; at++) {
    const value = values[at]!
    if (at > 0) literal += ","
    literal += value === null ? "NULL" : value
  }
  return `${literal}}`
}
