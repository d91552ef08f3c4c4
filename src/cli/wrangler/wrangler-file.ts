import { existsSync, readFileSync, statSync } from "node:fs"
import { dirname, extname, join, resolve } from "node:path"
import { CommandError, exitCodes } from "../exit-code.ts"
import { shownPath } from "../user-code/workflow-entry.ts"
import { JsoncError, parseJsonc } from "./jsonc.ts"

/** The content of wrangler.jsonc, for one environment. */
export interface WranglerFile {
  readonly path: string
  readonly folder: string
  /** The path as people write it. */
  readonly shown: string
  /** The chosen environment of the file. */
  readonly environment: string | undefined
  /** A setting that an environment inherits. */
  inherited(key: string): unknown
  /** A setting that each environment has for itself: bindings, vars and workflows. Dots lead to keys inside of keys. */
  own(key: string): unknown
}

/** The path of the file. For a folder, it is the file in the folder. */
export function findWranglerFile(named: string, cwd: string): string {
  const path = resolve(cwd, named)
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  const candidates = isFolder ? ["wrangler.jsonc", "wrangler.json", "wrangler.toml"].map((name) => join(path, name)) : [path]
  const found = candidates.find((candidate) => existsSync(candidate))
  if (found === undefined)
    throw new CommandError(
      "NO_WRANGLER_FILE",
      exitCodes.usage,
      `there is no ${isFolder ? `wrangler.jsonc in "${named}"` : `file "${named}"`}; give the path of your wrangler.jsonc`,
    )
  return found
}

/** Reads the file. Throws if it is missing, is no JSON, or lacks the environment. */
export function readWranglerFile(path: string, cwd: string, environment?: string): WranglerFile {
  const shown = shownPath(path, cwd)
  const refused = (code: string, message: string) => new CommandError(code, exitCodes.usage, message)
  if (extname(path) === ".toml")
    throw refused("WRANGLER_TOML", `${shown} is TOML, and perdure reads only JSON; write the same settings as wrangler.jsonc, which wrangler reads as well`)
  if (!existsSync(path)) throw refused("NO_WRANGLER_FILE", `there is no file "${shown}"; give the path of your wrangler.jsonc`)
  const content = parsed(readFileSync(path, "utf8"), shown)
  const settings = environment === undefined ? content : settingsOf(content, environment, shown)
  return {
    path,
    folder: dirname(path),
    shown,
    environment,
    inherited: (key) => settings[key] ?? content[key],
    own: (key) => key.split(".").reduce<unknown>((value, part) => (Object(value) as Record<string, unknown>)[part], settings),
  }
}

function parsed(text: string, shown: string): Record<string, unknown> {
  let content: unknown
  try {
    content = parseJsonc(text)
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error
    throw new CommandError("BAD_WRANGLER_JSON", exitCodes.usage, `${shown}:${error.line}:${error.column} is no JSON: ${error.message}`, { cause: error })
  }
  if (typeof content === "object" && content !== null && !Array.isArray(content)) return content as Record<string, unknown>
  throw new CommandError("BAD_WRANGLER_FILE", exitCodes.usage, `${shown} has to be an object with the settings of a Worker: { "main": …, "workflows": […] }`)
}

function settingsOf(content: Readonly<Record<string, unknown>>, environment: string, shown: string): Record<string, unknown> {
  const environments = Object(content["env"]) as Record<string, unknown>
  const settings = Object.hasOwn(environments, environment) ? environments[environment] : undefined
  if (typeof settings === "object" && settings !== null) return settings as Record<string, unknown>
  const names = Object.keys(environments)
  const has = names.length === 0 ? "it has none" : `it has ${names.map((name) => `"${name}"`).join(", ")}`
  throw new CommandError(
    "NO_ENVIRONMENT",
    exitCodes.usage,
    `${shown} has no environment "${environment}" (${has}); give another with --env, or add it under "env"`,
  )
}
