import { existsSync, statSync } from "node:fs"
import type { Client } from "../../client-api/client-api.ts"
import type { KnownWorkflows } from "../../engine/instances/known-workflows.ts"
import type { Logger } from "../../ports/host.ts"
import { CommandError, exitCodes } from "../exit-code.ts"
import { isAddress } from "./database-argument.ts"
import type { Target } from "./target.ts"

/** A client of a database or of a server. On a database it is an engine that executes nothing. */
export interface OpenClient {
  readonly target: Target
  readonly client: Client
  /** Whether a process executes the workflows of this database; undefined if the CLI cannot know. */
  hasWorker(): Promise<boolean | undefined>
  /** The workflows that the database knows. Undefined for a server, which resolves names itself. */
  readonly known: Pick<KnownWorkflows, "require" | "versionOf"> | undefined
  close(): Promise<void>
}

export interface OpenOptions {
  /** The command follows a stream, so it waits while a server restarts. */
  readonly isPatient?: boolean
}

export async function openClient(target: Target, log: Logger, { isPatient = false }: OpenOptions = {}): Promise<OpenClient> {
  if (target.kind === "url") return connectTo(target, isPatient)
  return isAddress(target.db) ? openServerDatabase(target, log) : openFile(target, log)
}

async function openFile(target: Target & { kind: "db" }, log: Logger): Promise<OpenClient> {
  const { db, from } = target
  if (!existsSync(db))
    throw new CommandError(
      "NO_DATABASE",
      exitCodes.unreachable,
      `there is no file "${db}" (${from}); give the path of the database that your program opens, or --url for a server`,
    )
  if (statSync(db).isDirectory())
    throw new CommandError("NO_DATABASE", exitCodes.unreachable, `"${db}" (${from}) is a folder; give the path of the database file in it`)
  const { isDatabaseOfOurs } = await import("./database-probe.ts")
  if (!isDatabaseOfOurs(db))
    throw new CommandError("NO_DATABASE", exitCodes.unreachable, `"${db}" (${from}) is a SQLite file, but not a database of Perdure; nothing was changed in it`)
  const [{ Perdure }, { sqlite }, { WorkerLock }, { wholeEngine }] = await Promise.all([
    import("../../index.ts"),
    import("../../sqlite.ts"),
    import("../../stores/sqlite/file/worker-lock.ts"),
    import("../../engine/public-engine.ts"),
  ])
  const engine = wholeEngine(await Perdure.open({ store: sqlite(db), role: "client", log }))
  return { target, client: engine, hasWorker: async () => WorkerLock.isHeld(db), known: engine.components.worker.knownWorkflows, close: () => engine.close() }
}

async function openServerDatabase(target: Target & { kind: "db" }, log: Logger): Promise<OpenClient> {
  const { requireTables, serverStore } = await import("./server-database.ts")
  await requireTables(target.db, target.from)
  const [{ Perdure }, { wholeEngine }] = await Promise.all([import("../../index.ts"), import("../../engine/public-engine.ts")])
  const engine = wholeEngine(await Perdure.open({ store: await serverStore(target.db, 3), role: "client", log }))
  const { store, host } = engine.components
  const hasWorker = async () => (await store.directory.workers()).some(({ until }) => until > host.now())
  return { target, client: engine, hasWorker, known: engine.components.worker.knownWorkflows, close: () => engine.close() }
}

/** Connects to a server. A user at a terminal soon learns that no server answers, but a command that follows a stream survives a restart of the server. */
async function connectTo(target: Target & { kind: "url" }, isPatient: boolean): Promise<OpenClient> {
  const { url, token, serves } = target
  const [{ connect }, { recogniseOwnFrames }] = await Promise.all([import("../../client.ts"), import("../../hosts/node/own-frames.ts")])
  recogniseOwnFrames()
  const options = token === undefined ? {} : { token }
  // The server of `perdure dev` does not answer for a moment after each change of a file.
  let client = connect(url, { ...options, retryFor: serves === undefined ? "500ms" : "5s" })
  if (isPatient) {
    await client.workflows()
    await client.close()
    client = connect(url, { ...options, retryFor: "5m" })
  }
  return { target, client, hasWorker: async () => undefined, known: undefined, close: () => client.close() }
}
