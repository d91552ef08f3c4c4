import type { Command } from "commander"
import { PerdureError } from "../../core/errors.ts"
import { wholeNumber } from "../option-parsers.ts"
import { databaseOf, shownDatabase } from "../target/database-target.ts"
import type { DevReport } from "../dev/dev-message.ts"
import { removeDevNote, writeDevNote } from "../dev/dev-note.ts"
import { FileWatch, projectFolder } from "../dev/file-watch.ts"
import { Supervisor } from "../dev/supervisor.ts"
import type { Invocation } from "../invocation.ts"
import { safeText } from "../../core/values/safe-text.ts"
import { findEntry, shownPath } from "../user-code/workflow-entry.ts"

export function addDev(program: Command, cli: Invocation): void {
  program
    .command("dev")
    .argument("[entry]", "the module that exports your workflows")
    .option("-p, --port <n>", "of the HTTP API", wholeNumber("--port", 0), 8787)
    .option("--no-api", "without the HTTP API")
    .addHelpText(
      "after",
      "\nExecutes workflows, serves the HTTP API on this machine, and starts anew when a file of the project changes: instances go on where they were.",
    )
    .action(async (named: string | undefined, options: { readonly port: number; readonly api: boolean }) => {
      const entry = findEntry(cli.io, named)
      const db = databaseOf(cli, "dev")
      const { cwd } = cli.io
      const project = projectFolder(entry)
      cli.interruptedCode = 0
      const { style } = cli
      let stop: (error: Error) => void = () => undefined
      const gone = new Promise<never>((_, reject) => {
        stop = reject
      })
      const supervisor = new Supervisor(
        { entry, db, cwd, ...(options.api ? { port: options.port } : undefined) },
        {
          onReady: (report, isReload) => {
            if (report.url !== undefined && !cli.io.signal.aborted) writeDevNote(project, { url: report.url, db, pid: process.pid })
            cli.printLine(report, () => readyText(report, isReload, cli, entry, db))
          },
          onFailed: (message) => cli.printLine({ type: "failed", message }, () => `${style.red("not started")} ${safeText(message)}\nwaiting for a change`),
          onGone: (message) => stop(new PerdureError("DATABASE_GONE", message, { details: { db } })),
          onExited: (how, restarts) =>
            cli.printLine(
              { type: "died", how, restarts },
              () => `${style.red("ended")} by itself (${how}); ${restarts ? "starting again" : "waiting for a change"}`,
            ),
        },
      )
      const watch = new FileWatch(project, {
        onChange: (path) => {
          cli.printLine({ type: "changed", path }, () => `${style.dim("changed")} ${shownPath(path, cwd)}`)
          supervisor.replace()
        },
        onUnwatched: (folder, error) => cli.note(`changes in ${shownPath(folder, cwd)} go unnoticed: ${safeText(error.message)}`),
      })
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

function readyText(
  { offers, role, url }: DevReport & { readonly type: "ready" },
  isReload: boolean,
  { style, io }: Invocation,
  entry: string,
  db: string,
): string {
  const what = `${offers.join(", ")} of ${shownPath(entry, io.cwd)}`
  const mark = style.green(isReload ? "reloaded" : "ready")
  const where = isReload ? "" : `\n  database  ${shownDatabase(db, io.cwd)}${url === undefined ? "" : `\n  HTTP API  ${url}`}`
  return `${mark} ${role === "worker" ? "" : "(standing by: another process executes) "}${what}${where}`
}
