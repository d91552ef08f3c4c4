import { PerdureError } from "../../../core/errors.ts"

/**
 * Throws for statements that the function of a transaction must not run: statements that end or leave the transaction, change how SQLite writes the
 * file, or name the store's own tables. The check reads the words of a statement. It guards against mistakes, not against malice.
 */
export function checkStatement(sql: string): void {
  if (typeof sql !== "string") throw refused(String(sql), "is not text")
  const tokens = tokensOf(sql)
  const words = tokens.slice(0, 3).map((token) => token.toUpperCase())
  const [first = ""] = words
  const isTrigger = first === "CREATE" && words.includes("TRIGGER")
  if (first === "") throw refused(sql, "is empty")
  if (!allowed.has(first)) throw refused(sql, `begins with ${first}, which a transaction does not allow; ${wayOut(first)}`)
  if (first === "ROLLBACK" && !words.slice(1).includes("TO")) throw refused(sql, "would roll the whole transaction back; throw an error instead")
  const end = tokens.indexOf(";")
  if (end >= 0 && end < tokens.length - 1 && !isTrigger) throw refused(sql, "has several statements; make a call for each")
  const ours = tokens.find((token) => /^["'`[]?perdure_\w+["'`\]]?$/i.test(token))
  if (ours !== undefined) throw refused(sql, `names ${ours}: names that begin with perdure_ belong to the store; use the engine, and bind such text as a value`)
}

/** The check for the database of an object. A rollback inside a statement would break the storage of the object. */
export function checkObjectStatement(sql: string): void {
  checkStatement(sql)
  if (/\bOR\s+ROLLBACK\b|\bRAISE\s*\(\s*ROLLBACK\b/i.test(sql)) throw refused(sql, "would roll back and break the storage; use ABORT, and throw an error")
}

/** Drivers misread other values: they take a Date for named parameters. */
export function checkValues(sql: string, values: readonly unknown[]): void {
  const wrong = values.findIndex((value) => !isBindable(value))
  if (wrong < 0) return
  const kind = Object.prototype.toString.call(values[wrong]).slice("[object ".length, -1)
  throw refused(sql, `has ${kind} as its value ${wrong + 1}; bind text, a number, a bigint, bytes or null, one for each ?`)
}

function isBindable(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "bigint" || value === null || value instanceof Uint8Array
}

const allowed = new Set("SELECT INSERT UPDATE DELETE REPLACE WITH VALUES CREATE ALTER DROP REINDEX ANALYZE EXPLAIN SAVEPOINT RELEASE ROLLBACK".split(" "))

function wayOut(first: string): string {
  if (first === "BEGIN" || first === "COMMIT" || first === "END") return "the engine begins and ends the transaction"
  if (first === "PRAGMA") return "use functions such as pragma_table_info(…) in a SELECT"
  return "use a connection of your own"
}

/** The words, quoted names, text literals and semicolons of a statement, without comments and other characters. */
function tokensOf(sql: string): string[] {
  const pattern = /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?|[\p{L}_][\p{L}\p{N}_$]*|;/gu
  return Array.from(sql.matchAll(pattern), ([token]) => token).filter((token) => !token.startsWith("--") && !token.startsWith("/*"))
}

function refused(sql: string, why: string): PerdureError {
  return new PerdureError("SQL_REFUSED", `the statement ${JSON.stringify(sql.length > 80 ? `${sql.slice(0, 80)}…` : sql)} ${why}`, { details: { sql } })
}
