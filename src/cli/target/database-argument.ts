import { resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { usageError } from "../exit-code.ts"

/** Of a database server, as opposed to a file. */
export function isAddress(db: string): boolean {
  return /^postgres(ql)?:/.test(db)
}

/** A database as it was given: the address of a server as it is, a file by its whole path. `from`: what a relative path begins at. */
export function wholeDatabase(db: string, from: string): string {
  if (isAddress(db)) return db
  return resolve(from, db.startsWith("file:") ? filePath(db) : db)
}

function filePath(url: string): string {
  try {
    return fileURLToPath(url)
  } catch {
    throw usageError(`"${url}" is not the URL of a file; give an absolute one, such as "file:///srv/app.db", or a path`)
  }
}
