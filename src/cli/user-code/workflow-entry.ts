import { existsSync, statSync } from "node:fs"
import { extname, join, relative, resolve } from "node:path"
import { CommandError, exitCodes } from "../exit-code.ts"
import type { Io } from "../io.ts"

const extensions = [".ts", ".mts", ".js", ".mjs"]
const places = ["perdure.config", "workflows", "src/workflows", "workflows/index", "src/workflows/index"]

/** The module that exports the workflows of the user: the named one, or the first of the usual paths that exists. */
export function findEntry({ cwd }: Pick<Io, "cwd">, named: string | undefined): string {
  if (named !== undefined) return namedEntry(cwd, named)
  for (const place of places) {
    for (const extension of extensions) {
      const path = join(cwd, place + extension)
      if (existsSync(path)) return path
    }
  }
  throw new CommandError(
    "NO_ENTRY",
    exitCodes.usage,
    `there is no module with workflows here; name it, or make one of ${places.map((place) => `${place}.ts`).join(", ")} (perdure init makes a project)`,
  )
}

function namedEntry(cwd: string, named: string): string {
  const path = resolve(cwd, named)
  const found = [path, ...extensions.map((extension) => path + extension), ...extensions.map((extension) => join(path, `index${extension}`))]
  const entry = found.find((candidate) => existsSync(candidate) && statSync(candidate).isFile())
  if (entry === undefined) throw new CommandError("NO_ENTRY", exitCodes.usage, `there is no module "${named}"; give the file that exports your workflows`)
  return entry
}

/** A path relative to the current folder, as people write it. */
export function shownPath(path: string, cwd: string): string {
  const shown = relative(cwd, path)
  return shown === "" || shown.startsWith("..") ? path : `./${shown}`
}

export function isTypeScript(path: string): boolean {
  return [".ts", ".mts", ".cts"].includes(extname(path))
}

/** The flags that Node needs to load TypeScript. Older versions strip types only with a flag. */
export function typeScriptFlags(): readonly string[] {
  // The types of Node do not declare this property.
  const strips = (process.features as { readonly typescript?: string | false }).typescript
  return typeof strips === "string" ? [] : ["--experimental-strip-types", "--disable-warning=ExperimentalWarning"]
}
