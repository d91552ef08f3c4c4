import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parseEnv } from "node:util"
import type { WranglerFile } from "./wrangler-file.ts"

/**
 * The secrets of the developer, which become vars. As in wrangler: `.dev.vars` counts alone, and an environment may have a `.dev.vars.<environment>` in its
 * place. Without them the `.env` files count together, the more specific one first. If the file names the `secrets` that it requires, only they count.
 */
export function readSecretVars(file: WranglerFile): Readonly<Record<string, string>> {
  const all = Object.assign({}, ...secretFiles(file).map((path) => parseEnv(readFileSync(path, "utf8")))) as Record<string, string>
  const required = file.own("secrets.required")
  if (!Array.isArray(required)) return all
  return Object.fromEntries(required.filter((name): name is string => typeof name === "string" && name in all).map((name) => [name, all[name] ?? ""]))
}

/** All files that may hold secrets, whether they exist or not. */
export function secretFileNames({ folder, environment }: WranglerFile): readonly string[] {
  return [...devVars(environment), ...dotEnvs(environment)].map((name) => join(folder, name))
}

/** The files that count, the most specific one last. */
function secretFiles({ folder, environment }: WranglerFile): readonly string[] {
  const present = (names: readonly string[]) => names.map((name) => join(folder, name)).filter((path) => existsSync(path))
  const [first] = present(devVars(environment))
  return first === undefined ? present(dotEnvs(environment)) : [first]
}

function devVars(environment: string | undefined): readonly string[] {
  return environment === undefined ? [".dev.vars"] : [`.dev.vars.${environment}`, ".dev.vars"]
}

function dotEnvs(environment: string | undefined): readonly string[] {
  return environment === undefined ? [".env", ".env.local"] : [".env", `.env.${environment}`, ".env.local", `.env.${environment}.local`]
}
