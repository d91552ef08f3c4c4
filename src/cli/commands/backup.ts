import { existsSync, mkdirSync, realpathSync, renameSync, rmSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import type { Command } from "commander"
import { PerdureError } from "../../core/errors.ts"
import { copyDatabase, newestSchema, schemaOf } from "../../stores/sqlite/file/database-file.ts"
import { WorkerLock } from "../../stores/sqlite/file/worker-lock.ts"
import { databaseFileOf, databaseOf, forFilesOnly } from "../target/database-target.ts"
import { CommandError, exitCodes } from "../exit-code.ts"
import type { Invocation } from "../invocation.ts"
import { bytesText } from "../output/bytes.ts"
import { ProgressLine } from "../output/progress-line.ts"
import { isAddress } from "../target/database-argument.ts"

export function addBackup(program: Command, cli: Invocation): void {
  program
    .command("backup")
    .argument("<file>", "where the copy goes")
    .option("--force", "replace the file if it is there")
    .addHelpText("after", "\nCopies a database while others work on it. The copy is one moment of it, checked before it gets its name.")
    .action(async (file: string, options: { readonly force?: boolean }) => {
      const db = databaseFileOf(cli, "backup")
      const target = resolve(cli.io.cwd, file)
      if (existsSync(target) && options.force !== true)
        throw new CommandError("FILE_EXISTS", exitCodes.failed, `"${target}" is there already; choose another name, or replace it with --force`)
      if (target === db) throw new CommandError("FILE_EXISTS", exitCodes.usage, "a database cannot be its own backup; choose another name")
      const schema = schemaOf(db)
      if (schema.version === 0) throw new PerdureError("DATABASE_UNREADABLE", `"${db}" is not a database of Perdure`)
      mkdirSync(dirname(target), { recursive: true })
      const progress = new ProgressLine(cli)
      await copyDatabase(db, target, ({ done, total }) => progress.show(() => `${Math.floor((100 * done) / Math.max(1, total))} % copied`))
      progress.clear()
      const { size } = statSync(target)
      cli.print({ file: target, bytes: size, schema: schema.version }, () => `${bytesText(size)} copied to ${file}, and checked\n`)
    })
}

/** Suffixes of the files that make up a database. */
const suffixes = ["", "-wal", "-shm", "-journal"]

export function addRestore(program: Command, cli: Invocation): void {
  program
    .command("restore")
    .argument("<file>", "a backup")
    .option("--force", "put it in the place of the database that is there, which is kept aside")
    .addHelpText("after", "\nStop every process that has the database open first; one that executes its workflows is noticed, and the restore refused.")
    .action(async (file: string, options: { readonly force?: boolean }) => {
      const db = databaseOf(cli, "restore")
      if (isAddress(db)) throw forFilesOnly("restore")
      const source = resolve(cli.io.cwd, file)
      refuseUnusable(source)
      if (existsSync(db) && options.force !== true)
        throw new CommandError("FILE_EXISTS", exitCodes.failed, `"${db}" is there already; with --force it is kept aside, and the backup takes its place`)
      mkdirSync(dirname(db), { recursive: true })
      const lock = WorkerLock.tryAcquire(existsSync(db) ? realpathSync(db) : db)
      if (lock === undefined) throw new CommandError("WORKER_RUNNING", exitCodes.failed, `a worker executes the workflows of "${db}"; stop it first`)
      try {
        const fresh = `${db}.restored`
        rmSync(fresh, { force: true })
        await copyDatabase(source, fresh)
        const aside = existsSync(db) ? setAside(db, cli.io.now()) : undefined
        renameSync(fresh, db)
        cli.print({ db, from: source, ...(aside === undefined ? undefined : { keptAside: aside }) }, () =>
          aside === undefined ? `restored to ${db}\n` : `restored to ${db}; what was there is ${aside}\n`,
        )
      } finally {
        lock.release()
      }
    })
}

function refuseUnusable(source: string): void {
  if (!existsSync(source)) throw new CommandError("NO_FILE", exitCodes.usage, `there is no file "${source}"`)
  const { version, compatible } = schemaOf(source)
  if (version === 0) throw new PerdureError("DATABASE_UNREADABLE", `"${source}" is not a database of Perdure`)
  if (compatible > newestSchema)
    throw new PerdureError(
      "DATABASE_TOO_NEW",
      `"${source}" has schema version ${version}, and this version of perdure knows versions up to ${newestSchema}; upgrade perdure first`,
    )
}

/** Renames all files of the old database, and returns its new name. */
function setAside(db: string, now: number): string {
  const aside = `${db}.before-${new Date(now).toISOString().replace(/[:.]/g, "-")}`
  for (const suffix of suffixes) if (existsSync(db + suffix)) renameSync(db + suffix, aside + suffix)
  return aside
}
