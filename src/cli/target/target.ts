import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { wholeDatabase } from "./database-argument.ts"
import { findDevNote } from "../dev/dev-note.ts"
import { usageError } from "../exit-code.ts"
import type { Io } from "../io.ts"
import { findProfile } from "./profile.ts"

export interface GlobalOptions {
  readonly db?: string
  readonly url?: string
  readonly token?: string
  readonly profile?: string
  readonly json?: boolean
  readonly debug?: boolean
}

/** The database or server of a command. `from` says who chose it. */
export type Target =
  | { readonly kind: "db"; readonly db: string; readonly from: string }
  | {
      readonly kind: "url"
      readonly url: string
      readonly token?: string
      readonly from: string
      /** The database behind a server of `perdure dev`. */
      readonly serves?: string
    }

/** As `from`: nobody chose the target. */
export const defaultTarget = "the default"
const defaultDb = "perdure.db"
const defaultUrl = "http://127.0.0.1:8787"

/** The chosen target. A running server of `perdure dev` replaces its database and the default target, but never a database that `--db` names. */
export function resolveTarget(options: GlobalOptions, io: Pick<Io, "cwd" | "env">): Target {
  const chosen = chosenTarget(options, io)
  const isChosen = chosen.from !== defaultTarget
  if (chosen.from === "--db" || (isChosen && chosen.kind === "url")) return chosen
  const dev = findDevNote(io.cwd)
  if (!dev) return chosen
  const isNearest = !isChosen && (chosen.kind === "url" || dev.project === resolve(io.cwd))
  if (!isNearest && (chosen.kind === "url" || chosen.db !== dev.db)) return chosen
  return { kind: "url", url: dev.url, from: `perdure dev, process ${dev.pid}, of ${dev.file}`, serves: dev.db }
}

/** In this order: the options, the named profile, the environment, the default profile, `./perdure.db` if the file exists, the local server. */
function chosenTarget(options: GlobalOptions, io: Pick<Io, "cwd" | "env">): Target {
  const { PERDURE_DB, PERDURE_URL, PERDURE_TOKEN, PERDURE_PROFILE } = io.env
  const token = options.token ?? PERDURE_TOKEN
  if (options.db !== undefined && options.url !== undefined) throw usageError("give either --db or --url, not both")
  if (options.db !== undefined) return database(options.db, "--db", io.cwd)
  if (options.url !== undefined) return server(options.url, token, "--url")
  const asked = options.profile ?? (set(PERDURE_PROFILE) ? PERDURE_PROFILE : undefined)
  if (asked !== undefined) return ofProfile(asked, options, io)
  if (set(PERDURE_DB) && set(PERDURE_URL)) throw usageError("PERDURE_DB and PERDURE_URL are both set; say --db or --url")
  if (set(PERDURE_DB)) return database(PERDURE_DB, "PERDURE_DB", io.cwd)
  if (set(PERDURE_URL)) return server(PERDURE_URL, token, "PERDURE_URL")
  const profile = findProfile(io, undefined)
  if (profile) return ofProfile(profile.name, options, io)
  if (existsSync(resolve(io.cwd, defaultDb))) return database(defaultDb, defaultTarget, io.cwd)
  return server(defaultUrl, token, defaultTarget)
}

function ofProfile(name: string, options: GlobalOptions, io: Pick<Io, "cwd" | "env">): Target {
  const profile = findProfile(io, name)
  const from = `profile "${name}" of ${profile?.file}`
  // PERDURE_TOKEN belongs to PERDURE_URL and --url. A profile has its own token.
  return profile?.url === undefined ? database(profile?.db ?? "", from, io.cwd) : server(profile.url, options.token ?? profile.token, from)
}

function database(db: string, from: string, cwd: string): Target {
  if (db === "") throw usageError(`${from} needs the path of a database file`)
  return { kind: "db", db: wholeDatabase(db, cwd), from }
}

function server(url: string, token: string | undefined, from: string): Target {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw usageError(`${from}: "${url}" is not an http or https address`)
  return { kind: "url", url, from, ...(token === undefined ? undefined : { token }) }
}

function set(value: string | undefined): value is string {
  return value !== undefined && value !== ""
}
