import { PerdureError } from "../../../core/errors.ts"

/** One of the servers that a connection string names. */
export interface ServerAddress {
  readonly connectionString: string
  /** For messages, without the password: `db1.example:5432, database "app"`. */
  readonly name: string
}

/** The values of `target_session_attrs` that mean a server which accepts writes, or leave it open. */
const attributes = new Set(["any", "read-write", "primary"])
const form = /^(postgres(?:ql)?:\/\/)([^/?#]*)(\/[^?#]*)?(\?[^#]*)?/i

/**
 * The servers of a connection string, which may name several servers as in libpq: "postgres://user@a:5432,b:5433/app?target_session_attrs=read-write".
 * `pg` accepts only one server, so each server gets a connection string of its own.
 */
export function serversOf(connectionString: string): readonly ServerAddress[] {
  const [, scheme, authority = "", path = "", query = ""] = form.exec(connectionString) ?? []
  // The folder of a socket, or another form that only pg understands.
  if (scheme === undefined) return [{ connectionString, name: "where the connection string says" }]
  const parameters = new URLSearchParams(query)
  const wanted = parameters.get("target_session_attrs")
  if (wanted !== null && !attributes.has(wanted))
    throw new PerdureError(
      "BAD_OPTION",
      `target_session_attrs must be "read-write", because the store needs a server that accepts writes, not ${JSON.stringify(wanted)}`,
    )
  parameters.delete("target_session_attrs")
  const rest = parameters.size === 0 ? "" : `?${parameters.toString()}`
  const at = authority.lastIndexOf("@") + 1
  const database = decodeURIComponent(path.slice(1)) || parameters.get("dbname") || process.env["PGDATABASE"]
  return authority
    .slice(at)
    .split(",")
    .map((host) => ({
      connectionString: `${scheme}${authority.slice(0, at)}${host}${path}${rest}`,
      name: nameOf(host || (parameters.get("host") ?? process.env["PGHOST"] ?? "localhost"), parameters.get("port"), database),
    }))
}

/** The server of a user's pool, as far as the pool's options tell. */
export function serverOfPool(pool: unknown): string {
  const options = typeof pool === "object" && pool !== null && "options" in pool ? pool.options : undefined
  const { connectionString, host, port, database } = (options ?? {}) as {
    connectionString?: unknown
    host?: unknown
    port?: string | number
    database?: unknown
  }
  if (typeof connectionString === "string") return serversOf(connectionString)[0]?.name ?? ""
  return typeof host === "string" ? nameOf(host, port, typeof database === "string" ? database : undefined) : "where the pool connects to"
}

function nameOf(host: string, port: string | number | null | undefined, database: string | undefined): string {
  const isWhole = /:\d+$/.test(host) || host.startsWith("/")
  const name = isWhole ? host : `${host}:${String(port ?? process.env["PGPORT"] ?? 5432)}`
  return database === undefined ? name : `${name}, database "${database}"`
}
