import type { Command } from "commander"
import { databaseOf, shownDatabase, storeOf } from "../target/database-target.ts"
import { wholeNumber } from "../option-parsers.ts"
import type { Invocation } from "../invocation.ts"
import { lineLogger } from "../output/line-logger.ts"
import { isAddress } from "../target/database-argument.ts"
import { ranWithTypes } from "../user-code/typescript-process.ts"
import { findEntry, shownPath } from "../user-code/workflow-entry.ts"
import { loadWorkflows } from "../user-code/workflow-module.ts"

export function addWorker(program: Command, cli: Invocation): void {
  program
    .command("worker")
    .argument("[entry]", "the module that exports your workflows")
    .option("--max-concurrent-steps <n>", "run at most so many steps at a time", wholeNumber("--max-concurrent-steps"))
    .addHelpText(
      "after",
      "\nExecutes workflows until it is told to stop (Ctrl-C, SIGTERM): steps under way may finish, then everything is given back in good order.",
    )
    .action(async (named: string | undefined, { maxConcurrentSteps }: { readonly maxConcurrentSteps?: number }) => {
      const entry = findEntry(cli.io, named)
      if (await ranWithTypes(cli, entry)) return
      cli.interruptedCode = 0
      const db = databaseOf(cli, "worker")
      const { workflows, options } = await loadWorkflows(entry, cli.io.cwd)
      const { Perdure } = await import("../../index.ts")
      const log = lineLogger(cli)
      let stop: (error: Error) => void = () => undefined
      const gone = new Promise<never>((_, reject) => {
        stop = reject
      })
      // `gone` is awaited at the end, and may be rejected before.
      gone.catch(() => undefined)
      const engine = await Perdure.open({
        ...options,
        store: await storeOf(db),
        workflows,
        log,
        onStoreGone: stop,
        ...(maxConcurrentSteps === undefined ? undefined : { maxConcurrentSteps }),
      })
      cli.onClose(async () => {
        cli.note("stopping: steps under way may finish; press Ctrl-C again to stop at once")
        await engine.close()
        cli.note("stopped")
      })
      const offers = workflows.map(({ name, version }) => `${name}@${version}`)
      const where = shownDatabase(db, cli.io.cwd)
      const serving = { serving: offers, entry, db: isAddress(db) ? where : db, role: engine.role }
      cli.printLine(
        serving,
        () => `${engine.role === "worker" ? "executing" : "standing by for"} ${offers.join(", ")} of ${shownPath(entry, cli.io.cwd)} on ${where}`,
      )
      // The command runs until it is interrupted, or until its database file is deleted or replaced.
      await gone
    })
}
