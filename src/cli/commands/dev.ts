import type { Command } from "commander"
import { PerdureError } from "../../core/errors.ts"
import { wholeNumber } from "../option-parsers.ts"
import { databaseOf, shownDatabase } from "../target/database-target.ts"
import type { WorkerOptions } from "../dev/dev-message.ts"
import { removeDevNote, writeDevNote } from "../dev/dev-note.ts"
import { FileWatch, projectFolder } from "../dev/file-watch.ts"
import { readyText } from "../dev/ready-text.ts"
import { Supervisor } from "../dev/supervisor.ts"
import type { Invocation } from "../invocation.ts"
import { safeText } from "../../core/values/safe-text.ts"
import { secretFileNames } from "../wrangler/secret-vars.ts"
import { workerOf, type WorkerOfOptions } from "../wrangler/worker-options.ts"
import type { WorkerSettings } from "../wrangler/worker-settings.ts"
import { findEntry, shownPath } from "../user-code/workflow-entry.ts"

interface DevCommandOptions extends WorkerOfOptions {
  readonly port: number
  readonly api: boolean
}

export function addDev(program: Command, cli: Invocation): void {
  program
    .command("dev")
    .argument("[entry]", "the module that exports your workflows")
    .option("-p, --port <n>", "of the HTTP API", wholeNumber("--port", 0), 8787)
    .option("--no-api", "without the HTTP API")
    .option("--wrangler <file>", "execute the Worker of this wrangler.jsonc")
    .option("--env <name>", "an environment of the wrangler.jsonc; default: CLOUDFLARE_ENV")
    .option("--worker-port <n>", "of the Worker's own fetch; default: dev.port of the wrangler.jsonc, or 8788", wholeNumber("--worker-port", 0))
    .addHelpText(
      "after",
      "\nExecutes workflows, serves the HTTP API on this machine, and starts anew when a file of the project changes: instances go on where they were.\nWith --wrangler it also serves the Worker's fetch, calls its scheduled handler at the times of its crons, and gives it its bindings.",
    )
    .action(async (named: string | undefined, options: DevCommandOptions) => {
      const worker = workerOf(cli.io, named, options)
      const entry = worker?.file.path ?? findEntry(cli.io, named)
      const db = databaseOf(cli, "dev")
      const { cwd } = cli.io
      const project = projectFolder(entry)
      const places = { entry: shownPath(entry, cwd), database: shownDatabase(db, cwd) }
      cli.interruptedCode = 0
      const { style } = cli
      let stop: (error: Error) => void = () => undefined
      const gone = new Promise<never>((_, reject) => {
        stop = reject
      })
      const supervisor = new Supervisor(
        {
          entry,
          db,
          cwd,
          ...(options.api ? { port: options.port } : undefined),
          ...(worker ? { worker: workerOptions(worker, options) } : undefined),
        },
        {
          onReady: (report, isReload) => {
            if (report.url !== undefined && !cli.io.signal.aborted) writeDevNote(project, { url: report.url, db, pid: process.pid })
            cli.printLine(report, () => readyText(report, isReload, style, places))
          },
          onFailed: (failure) =>
            cli.printLine(failure, () => {
              const code = failure.code === undefined ? "" : `${style.bold(failure.code)}: `
              return `${style.red("not started")} ${code}${safeText(failure.message)}\nwaiting for a change`
            }),
          onGone: (message) => stop(new PerdureError("DATABASE_GONE", message, { details: { db } })),
          onExited: (how, restarts) =>
            cli.printLine(
              { type: "died", how, restarts },
              () => `${style.red("ended")} by itself (${how}); ${restarts ? "starting again" : "waiting for a change"}`,
            ),
        },
      )
      const watch = new FileWatch(
        project,
        {
          onChange: (path) => {
            cli.printLine({ type: "changed", path }, () => `${style.dim("changed")} ${shownPath(path, cwd)}`)
            supervisor.replace()
          },
          onUnwatched: (folder, error) => cli.note(`changes in ${shownPath(folder, cwd)} go unnoticed: ${safeText(error.message)}`),
        },
        worker ? [worker.file.path, ...secretFileNames(worker.file)] : [],
      )
      cli.onClose(async () => {
        watch.close()
        // The note is removed first, because an impatient user may kill this process before the executing process has ended.
        removeDevNote(project, process.pid)
        cli.note("stopping")
        await supervisor.stop()
      })
      supervisor.start()
      // The command runs until it is interrupted, or until its database file is gone.
      await gone
    })
}

function workerOptions({ file }: WorkerSettings, { workerPort }: DevCommandOptions): WorkerOptions {
  return {
    ...(file.environment === undefined ? undefined : { environment: file.environment }),
    ...(workerPort === undefined ? undefined : { port: workerPort }),
  }
}
