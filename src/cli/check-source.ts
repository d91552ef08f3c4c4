import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import type { JournalSource } from "../engine/journal-source.ts"
import type { EngineOptions } from "../engine/settings.ts"
import { readExports } from "./export-file.ts"
import type { Invocation } from "./invocation.ts"
import { isAddress } from "./profile.ts"

export interface CheckSource {
  readonly journals: JournalSource
  /** For people. */
  readonly name: string
}

/** Where the journals to be checked are. A database is only read: one that other code is running on must stay as it is. */
export async function openCheckSource(cli: Invocation, files: readonly string[] | undefined, options: EngineOptions): Promise<CheckSource> {
  const { io } = cli
  if (files !== undefined) return { journals: readExports(files.map((file) => resolve(io.cwd, file))), name: files.join(", ") }
  const { target } = cli
  if (target.kind === "url" || isAddress(target.db)) {
    const { client } = await cli.openClient()
    return { journals: client, name: target.kind === "url" ? target.url : "the database" }
  }
  const { Perdure } = await import("../index.ts")
  const { sqliteReader } = await import("../stores/sqlite/sqlite.ts")
  const engine = await Perdure.open({ ...options, store: sqliteReader(await readableFile(cli)), role: "client" })
  cli.onClose(() => engine.close())
  return { journals: engine, name: target.db }
}

/** The file itself where this code knows its schema; a copy with the newer schema where it is older. */
async function readableFile(cli: Invocation): Promise<string> {
  const { databaseFileOf } = await import("./database-target.ts")
  const { copyDatabase, migrateFile, newestSchema, schemaOf } = await import("../stores/sqlite/database-file.ts")
  const file = databaseFileOf(cli, "check")
  const { version } = schemaOf(file)
  if (version >= newestSchema) return file
  const folder = mkdtempSync(join(tmpdir(), "perdure-check-"))
  cli.onClose(async () => rmSync(folder, { recursive: true, force: true }))
  const copy = join(folder, "copy.db")
  cli.note(`the database has schema version ${version}, and this perdure has ${newestSchema}: a copy is migrated and checked`)
  await copyDatabase(file, copy)
  migrateFile(copy)
  return copy
}
