import { existsSync, readFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { wholeDatabase } from "./database-argument.ts"
import { usageError } from "../exit-code.ts"
import type { Io } from "../io.ts"

/**
 * Profiles: names for databases and servers, in `perdure.config.json` of the project (in this folder or the nearest above it) and in
 * `~/.config/perdure/config.json`. A profile of the project wins over a profile of the user with the same name.
 *
 *   { "profile": "local",
 *     "profiles": { "local": { "db": "./perdure.db" }, "production": { "url": "https://…", "tokenEnv": "PERDURE_PRODUCTION_TOKEN" } } }
 */
export interface Profile {
  readonly name: string
  /** An absolute path, or the address of a database server. */
  readonly db?: string
  readonly url?: string
  readonly token?: string
  /** The file that defines the profile. */
  readonly file: string
}

type Place = Pick<Io, "cwd" | "env">

/** The profile of that name, or else the default profile of a file. Undefined if there is none. */
export function findProfile(place: Place, name: string | undefined): Profile | undefined {
  const files = [projectFile(place.cwd), homeFile(place.env)].filter((file) => file !== undefined && existsSync(file.path)) as ConfigFile[]
  const configs = files.map((file) => ({ file, ...readConfig(file.path) }))
  const wanted = name ?? configs.find(({ profile }) => profile !== undefined)?.profile
  if (wanted === undefined) return undefined
  const config = configs.find(({ profiles }) => Object.hasOwn(profiles, wanted))
  if (config) return profileOf(wanted, config.profiles[wanted], config.file, place)
  const known = configs.flatMap(({ profiles }) => Object.keys(profiles))
  const files_ = files.length === 0 ? "there is no perdure.config.json here or above, and none in ~/.config/perdure" : `there are ${list(known)}`
  throw usageError(`there is no profile "${wanted}"; ${files_}`)
}

/** The names of all profiles. */
export function profileNames({ cwd, env }: Place): readonly string[] {
  const files = [projectFile(cwd), homeFile(env)].filter((file) => file !== undefined && existsSync(file.path)) as ConfigFile[]
  return [...new Set(files.flatMap(({ path }) => Object.keys(readConfig(path).profiles)))]
}

interface ConfigFile {
  readonly path: string
  /** The user of this machine wrote the file, and not the author of the project. */
  readonly isOwn: boolean
}

function projectFile(cwd: string): ConfigFile | undefined {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const path = join(folder, "perdure.config.json")
    if (existsSync(path)) return { path, isOwn: false }
    if (dirname(folder) === folder) return undefined
  }
}

function homeFile(env: Io["env"]): ConfigFile | undefined {
  const base = env["XDG_CONFIG_HOME"] ?? configBase(env["HOME"] ?? env["USERPROFILE"])
  return base === undefined ? undefined : { path: join(base, "perdure", "config.json"), isOwn: true }
}

function configBase(home: string | undefined): string | undefined {
  return home === undefined ? undefined : join(home, ".config")
}

interface Config {
  readonly profile?: string
  readonly profiles: Readonly<Record<string, unknown>>
}

function readConfig(path: string): Config {
  let content: unknown
  try {
    content = JSON.parse(readFileSync(path, "utf8"))
  } catch (error) {
    throw usageError(`${path} cannot be read as JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (!isRecord(content)) throw usageError(`${path} must be a JSON object`)
  const { profile, profiles = {} } = content
  if (profile !== undefined && typeof profile !== "string") throw usageError(`${path}: "profile" must be the name of a profile`)
  if (!isRecord(profiles)) throw usageError(`${path}: "profiles" must be an object of profiles by name`)
  return { ...(profile === undefined ? undefined : { profile }), profiles }
}

function profileOf(name: string, value: unknown, file: ConfigFile, { env }: Place): Profile {
  const where = `${file.path}: profile "${name}"`
  if (!isRecord(value)) throw usageError(`${where} must be an object with "db" or "url"`)
  for (const [key, text] of Object.entries(value)) if (typeof text !== "string") throw usageError(`${where}: "${key}" must be a text`)
  const { db, url, token, tokenEnv } = value as Record<string, string | undefined>
  if ((db === undefined) === (url === undefined)) throw usageError(`${where} must have either "db" or "url"`)
  // A foreign project could otherwise send any secret of your environment to its own server.
  if (tokenEnv !== undefined && !file.isOwn && !tokenEnv.startsWith("PERDURE_"))
    throw usageError(`${where}: "tokenEnv" in a project's file must name a variable that begins with PERDURE_`)
  const secret = token ?? (tokenEnv === undefined ? undefined : env[tokenEnv])
  return {
    name,
    file: file.path,
    ...(db === undefined ? undefined : { db: wholeDatabase(db, dirname(file.path)) }),
    ...(url === undefined ? undefined : { url }),
    ...(secret === undefined ? undefined : { token: secret }),
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function list(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.map((name) => `"${name}"`).join(", ")
}
