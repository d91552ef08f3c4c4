import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

/** Packages that bring others along, which a strict package manager does not link into the project itself. */
const bringers = ["wrangler", "@cloudflare/vite-plugin"]

/** The path of a package's code, if the project has the package. */
function packageOf(folder: string, name: string): string | undefined {
  const ofProject = createRequire(join(folder, "package.json"))
  for (const bringer of [undefined, ...bringers]) {
    try {
      return (bringer === undefined ? ofProject : createRequire(ofProject.resolve(`${bringer}/package.json`))).resolve(name)
    } catch {
      // The next one may have it.
    }
  }
  return undefined
}

/** Imports a package of the project. Undefined: the project does not have it. */
export async function importOf<T>(folder: string, name: string): Promise<T | undefined> {
  const path = packageOf(folder, name)
  if (path === undefined) return undefined
  const module = (await import(pathToFileURL(path).href)) as { readonly default?: T } & T
  return module.default ?? module
}
