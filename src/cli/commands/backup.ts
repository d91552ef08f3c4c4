import { existsSync, mkdirSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import type { Command } from "commander"
import { PerdureError } from "../../core/errors.ts"
import { copyDatabase, schemaOf } from "../../stores/sqlite/file/database-file.ts"
import { databaseFileOf } from "../target/database-target.ts"
import { CommandError, exitCodes } from "../exit-code.ts"
import type { Invocation } from "../invocation.ts"
import { bytesText } from "../output/bytes.ts"
import { ProgressLine } from "../output/progress-line.ts"

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
