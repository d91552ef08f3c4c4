import { resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { usageError } from "../exit-code.ts"

/** Whether `db` is the address of a database server, and not a file. */
export function isAddress(db: string): boolean {
  return /^postgres(ql)?:/.test(db)
}

/** Makes the path of a file absolute, starting at `from`, and leaves the address of a server as it is. */
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
