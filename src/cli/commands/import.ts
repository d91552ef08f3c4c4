import { resolve } from "node:path"
import type { Command } from "commander"
import { PerdureError } from "../../core/errors.ts"
import { importInstance, type ImportOptions } from "../../engine/transfer/instance-import.ts"
import { databaseOf } from "../target/database-target.ts"
import { exitCodeOf, usageError } from "../exit-code.ts"
import { readExport, readExports } from "../user-code/export-file.ts"
import type { Invocation } from "../invocation.ts"
import { hostOf, openStore } from "../target/open-store.ts"
import { oneLine } from "../output/plain-text.ts"

export function addImport(program: Command, cli: Invocation): void {
  program
    .command("import")
    .argument("<file>", "what perdure export wrote; - for stdin")
    .option("--id <id>", "under another id: a copy of the one instance in the file")
    .option("--resume", "let instances go on at once that are not over; default: they come in paused")
    .addHelpText("after", "\nAn instance that is not over must not run in two places: pause or terminate it where it came from before it is resumed here.")
    .action(async (file: string, options: { readonly id?: string; readonly resume?: boolean }) => {
      const store = await openStore(cli, databaseOf(cli, "import"))
      const instances = file === "-" ? readExport(cli.io.stdin) : readExports([resolve(cli.io.cwd, file)])
      let count = 0
      for await (const exported of instances) {
        if (options.id !== undefined && count > 0) throw usageError("--id is for a file with one instance; this one has more, and the first was imported")
        count++
        const settings: ImportOptions = {
          ...(options.id === undefined ? undefined : { id: options.id }),
          ...(options.resume === true ? { resume: true } : undefined),
        }
        try {
          const imported = await importInstance(store, hostOf(cli), exported, settings)
          cli.printLine({ imported: true, ...imported }, () => `${imported.id} is imported, ${imported.status}`)
        } catch (error) {
          if (!PerdureError.is(error)) throw error
          const { id } = exported.instance
          cli.exitCode = exitCodeOf(error)
          cli.printLine(
            { imported: false, id, error: { code: error.code, message: error.message } },
            () => `${cli.style.red("not imported")} ${id}: ${oneLine(error.message)}`,
          )
        }
      }
      if (count === 0) throw usageError(`"${file}" has no instances`)
    })
}
