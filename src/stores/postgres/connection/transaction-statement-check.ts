import { PerdureError } from "../../../core/errors.ts"

/** Comments and quoted text, which are skipped; semicolons, which separate statements; and words. */
const tokens = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|;|[A-Za-z_]\w*/g

type Opening = readonly [first?: string, second?: string, third?: string]

/** Statements that end the transaction, or whose effect on the connection would outlive it. */
const refused: Readonly<Record<string, (words: Opening) => boolean>> = {
  begin: () => true,
  start: ([, second]) => second === "transaction",
  commit: () => true,
  end: () => true,
  abort: () => true,
  rollback: ([, second, third]) => second !== "to" && third !== "to",
  prepare: ([, second]) => second === "transaction",
  listen: () => true,
  unlisten: () => true,
  discard: () => true,
  set: ([, second]) => second !== "local" && second !== "constraints",
  reset: () => true,
}

/** A guard against mistakes, which looks at the first words of each statement. The end of the transaction checks that it is still the transaction that was begun. */
export function checkStatement(text: string): void {
  for (const words of openings(text)) {
    const [first = ""] = words
    if (!Object.hasOwn(refused, first) || refused[first]?.(words) !== true) continue
    const advice =
      first === "set" || first === "reset"
        ? "it would outlive the transaction; use SET LOCAL"
        : "the engine begins and ends the transaction; throw an error to roll it back, or use savepoints"
    throw new PerdureError("SQL_REFUSED", `${first.toUpperCase()} is not allowed in the function of a transaction: ${advice}`, { details: { sql: text } })
  }
}

function openings(text: string): Opening[] {
  const found: string[][] = [[]]
  for (const [token] of text.matchAll(tokens)) {
    const words = found.at(-1) ?? []
    if (token === ";") found.push([])
    else if (/^[A-Za-z_]/.test(token) && words.length < 3) words.push(token.toLowerCase())
  }
  return found as unknown as Opening[]
}
