import { firstTables } from "./object-schema.ts"
import { migrations } from "./schema.ts"

/** What makes any table or index of a file in the database of an object, where it is not there from the beginning. */
export function objectParts(name: string): readonly string[] {
  return firstTables.has(name) ? [] : statementsOf(name)
}

function all(): readonly string[] {
  return migrations.flatMap(({ statements }) => statements)
}

/** The newest that creates it, and what it has to begin with. */
function statementsOf(name: string): readonly string[] {
  const creation = all().findLast((statement) => new RegExp(`^CREATE (TABLE|INDEX) ${name} `).test(statement))
  return creation === undefined ? [] : [creation, ...all().filter((statement) => statement.startsWith(`INSERT INTO ${name} `))]
}
