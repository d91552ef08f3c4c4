import { closeSync, existsSync, openSync, renameSync, rmSync, writeSync } from "node:fs"
import { resolve } from "node:path"
import type { Command } from "commander"
import { exportInstance, exportLines } from "../../engine/transfer/instance-export.ts"
import type { ListFilter } from "../../client-api/client-api.ts"
import { listInstances } from "../../engine/instances/instance-list.ts"
import type { Store } from "../../ports/store.ts"
import { presentDatabaseOf } from "../target/database-target.ts"
import { CommandError, exitCodes, usageError } from "../exit-code.ts"
import { addFilter, filterOf, type FilterOptions } from "../filter.ts"
import type { Invocation } from "../invocation.ts"
import { openStore } from "../target/open-store.ts"
import { ProgressLine } from "../output/progress-line.ts"

export function addExport(program: Command, cli: Invocation): void {
  addFilter(program.command("export").argument("[id...]", "the instances; or say which with the options"), cli.io.now)
    .option("--all", "every instance")
    .option("-o, --out <file>", "write to this file; default: stdout")
    .option("--force", "replace the file if it is there")
    .addHelpText("after", "\nWrites instances with their journals and unread messages as lines of JSON, for perdure import and perdure check --export.")
    .action(async (ids: readonly string[], options: ExportOptions) => {
      const filter = filterOf(options)
      if (ids.length === 0 && Object.keys(filter).length === 0 && options.all !== true)
        throw usageError("name the instances to export, or say which with --workflow, --status …, or --all")
      if (ids.length > 0 && (Object.keys(filter).length > 0 || options.all === true))
        throw usageError("give either ids or options that say which instances, not both")
      const store = await openStore(cli, await presentDatabaseOf(cli, "export"))
      const sink = options.out === undefined ? undefined : new FileSink(resolve(cli.io.cwd, options.out), options.force === true)
      const progress = new ProgressLine(cli)
      let count = 0
      try {
        for await (const id of ids.length > 0 ? ids : idsOf(store, filter)) {
          for (const line of exportLines(await exportInstance(store, id), cli.io.now())) {
            if (sink) sink.write(`${line}\n`)
            else await written(cli, `${line}\n`)
          }
          count++
          progress.show(() => `${count} exported`)
        }
        sink?.finish()
      } finally {
        progress.clear()
        sink?.close()
      }
      if (sink) cli.print({ exported: count, file: sink.path }, () => `${count} ${count === 1 ? "instance" : "instances"} exported to ${options.out}\n`)
      else cli.note(`${count} ${count === 1 ? "instance" : "instances"} exported`)
    })
}

interface ExportOptions extends FilterOptions {
  readonly all?: boolean
  readonly out?: string
  readonly force?: boolean
}

async function* idsOf(store: Store, filter: ListFilter): AsyncGenerator<string> {
  for (let cursor: string | undefined; ;) {
    const page = await listInstances(store.directory, { ...filter, limit: 200, order: "oldest", ...(cursor === undefined ? undefined : { cursor }) })
    for (const { id } of page.instances) yield id
    cursor = page.cursor
    if (cursor === undefined) return
  }
}

/** Writes to stdout, and waits while the reader is slower than this process. */
async function written({ io }: Invocation, text: string): Promise<void> {
  const sink = io.stdout as { write(text: string): unknown; once?(event: "drain", listener: () => void): unknown }
  if (sink.write(text) === false && sink.once) await new Promise<void>((resume) => sink.once?.("drain", resume))
}

/** Writes to a temporary file, which gets its name when it is complete. */
class FileSink {
  readonly path: string
  readonly #partial: string
  #file: number | undefined

  constructor(path: string, force: boolean) {
    if (existsSync(path) && !force)
      throw new CommandError("FILE_EXISTS", exitCodes.failed, `"${path}" is there already; choose another name, or replace it with --force`)
    this.path = path
    this.#partial = `${path}.partial`
    this.#file = openSync(this.#partial, "w", 0o600)
  }

  write(text: string): void {
    if (this.#file !== undefined) writeSync(this.#file, text)
  }

  finish(): void {
    this.#end()
    renameSync(this.#partial, this.path)
  }

  close(): void {
    this.#end()
    rmSync(this.#partial, { force: true })
  }

  #end(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }
}
