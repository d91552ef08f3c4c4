import { existsSync } from "node:fs"
import type { Client } from "../engine/client.ts"
import type { Logger } from "../ports/host.ts"
import { CommandError, exitCodes } from "./exit-code.ts"
import { isAddress } from "./profile.ts"
import type { Target } from "./target.ts"

/** A client of a database or of a server. The engine behind a database never executes: the CLI only asks. */
export interface OpenClient {
  readonly target: Target
  readonly client: Client
  /** Whether a process executes the workflows of this file; undefined where that cannot be known. */
  hasWorker(): Promise<boolean | undefined>
  close(): Promise<void>
}

export async function openClient(target: Target, log: Logger): Promise<OpenClient> {
  if (target.kind === "url") return connectTo(target)
  return isAddress(target.db) ? openServerDatabase(target) : openFile(target, log)
}

async function openFile(target: Target & { kind: "db" }, log: Logger): Promise<OpenClient> {
  const { db, from } = target
  if (!existsSync(db))
    throw new CommandError(
      "NO_DATABASE",
      exitCodes.unreachable,
      `there is no file "${db}" (${from}); give the path of the database that your program opens, or --url for a server`,
    )
  const { isDatabaseOfOurs } = await import("./database-probe.ts")
  if (!isDatabaseOfOurs(db))
    throw new CommandError("NO_DATABASE", exitCodes.unreachable, `"${db}" (${from}) is a SQLite file, but no database of Perdure; nothing was changed in it`)
  const [{ Perdure }, { sqlite }, { WorkerLock }] = await Promise.all([
    import("../index.ts"),
    import("../sqlite.ts"),
    import("../stores/sqlite/worker-lock.ts"),
  ])
  const engine = await Perdure.open({ store: sqlite(db), role: "client", log })
  return { target, client: engine, hasWorker: async () => WorkerLock.isHeld(db), close: () => engine.close() }
}

async function openServerDatabase({ db }: Target & { kind: "db" }): Promise<OpenClient> {
  throw new CommandError("NO_DATABASE", exitCodes.usage, `"${new URL(db).protocol}" databases are reached through a server; give --url`)
}

async function connectTo({ url }: Target & { kind: "url" }): Promise<OpenClient> {
  throw new CommandError("NO_SERVER", exitCodes.unreachable, `there is no client for "${url}" yet; give --db with the database file`)
}
