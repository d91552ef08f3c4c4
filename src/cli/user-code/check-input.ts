import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import type { JournalSource } from "../../engine/diagnostics/journal-source.ts"
import type { EngineOptions } from "../../engine/settings.ts"
import type { StoreProvider } from "../../ports/store.ts"
import { usageError } from "../exit-code.ts"
import { readExports } from "./export-file.ts"
import type { Invocation } from "../invocation.ts"
import { isAddress } from "../target/database-argument.ts"
import type { Target } from "../target/target.ts"

export interface CheckSource {
  readonly journals: JournalSource
  /** The source as people name it. */
  readonly name: string
}

/** Opens the journals to check. A database is only read, because workers with other code may be running on it. */
export async function openCheckSource(cli: Invocation, files: readonly string[] | undefined, options: EngineOptions): Promise<CheckSource> {
  const { io } = cli
  if (files !== undefined) return { journals: readExports(files.map((file) => resolve(io.cwd, file))), name: files.join(", ") }
  const { target } = cli
  if (target.kind === "url") {
    const { client } = await cli.openClient()
    return { journals: client, name: target.url }
  }
  const { Perdure } = await import("../../index.ts")
  if (isAddress(target.db)) {
    const { serverName } = await import("../target/server-database.ts")
    const engine = await Perdure.open({ ...options, store: await unchangedStore(target), role: "client" })
    cli.onClose(() => engine.close())
    return { journals: engine, name: serverName(target.db) }
  }
  const { sqliteReader } = await import("../../stores/sqlite/sqlite-provider.ts")
  const engine = await Perdure.open({ ...options, store: sqliteReader(await readableFile(cli)), role: "client" })
  cli.onClose(() => engine.close())
  return { journals: engine, name: target.db }
}

/** Opens a database, and refuses an older schema: opening would migrate it while workers with older code may be running on it. */
async function unchangedStore({ db, from }: Target & { kind: "db" }): Promise<StoreProvider> {
  const { inspect, requireTables, serverStore } = await import("../target/server-database.ts")
  const { newestSchema, schemaVersion } = await import("../../stores/postgres/maintenance.ts")
  await requireTables(db, from)
  const { version } = await inspect(db, schemaVersion)
  if (version >= newestSchema) return serverStore(db, 3)
  throw usageError(
    `the database has schema version ${version}, and this perdure has ${newestSchema}: run perdure migrate first, which workers of the older one outlive, or check an export of it (--export)`,
  )
}

/** The file, or a migrated copy of it if its schema is older. */
async function readableFile(cli: Invocation): Promise<string> {
  const { databaseFileOf } = await import("../target/database-target.ts")
  const { copyDatabase, migrateFile, newestSchema, schemaOf } = await import("../../stores/sqlite/file/database-file.ts")
  const file = databaseFileOf(cli, "check")
  const { version } = schemaOf(file)
  if (version >= newestSchema) return file
  const folder = mkdtempSync(join(tmpdir(), "perdure-check-"))
  cli.onClose(async () => rmSync(folder, { recursive: true, force: true }))
  const copy = join(folder, "copy.db")
  cli.note(`the database has schema version ${version}, and this perdure has ${newestSchema}: a copy is migrated and checked`)
  await copyDatabase(file, copy)
  await migrateFile(copy)
  return copy
}
