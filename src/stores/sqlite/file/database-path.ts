import { fileURLToPath } from "node:url"
import { PerdureError } from "../../../core/errors.ts"

/** The path of a database file. `given` is a path, a `file:` URL, or the text of such a URL. */
export function databasePath(given: string | URL): string {
  if (given instanceof URL) return pathOf(given)
  if (typeof given !== "string" || given === "")
    throw new PerdureError("BAD_OPTION", `sqlite() needs the path of a file, such as "perdure.db", a file: URL, or ":memory:"`)
  if (!given.startsWith("file:")) return given
  // SQLite reads "file:app.db" as a relative path, but URL would read it as a path from the root.
  if (!given.startsWith("file://") || !URL.canParse(given))
    throw new PerdureError("BAD_OPTION", `"${given}" is not the URL of a file; give an absolute one, such as "file:///srv/app.db", or a path, such as "app.db"`)
  return pathOf(new URL(given))
}

function pathOf(url: URL): string {
  if (url.protocol !== "file:") throw new PerdureError("BAD_OPTION", `sqlite() opens files, and ${url.href} is not a file: URL`)
  if (url.search !== "" || url.hash !== "")
    throw new PerdureError("BAD_OPTION", `${url.href} has parameters, which sqlite() does not take; give them as options of sqlite() instead`)
  try {
    return fileURLToPath(url)
  } catch (cause) {
    throw new PerdureError("BAD_OPTION", `${url.href} is not the URL of a file on this machine`, { cause })
  }
}
