import { firstTables } from "./object-schema.ts"
import { migrations } from "../schema/schema.ts"

/** What makes any table or index of a file in the database of an object, where it is not there from the beginning. */
export function objectParts(name: string): readonly string[] {
  return firstTables.has(name) ? [] : statementsOf(name)
}

function all(): readonly string[] {
  return migrations.flatMap(({ statements }) => statements)
}

/** The newest that creates it, and what it has to begin with. */
function statementsOf(name: string): readonly string[] {
  const creation = all().findLast((statement) => /^CREATE (?:TABLE|INDEX) (\S+) /.exec(statement)?.[1] === name)
  return creation === undefined ? [] : [creation, ...all().filter((statement) => /^INSERT INTO (\S+) /.exec(statement)?.[1] === name)]
}
