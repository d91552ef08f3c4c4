import { createInterface } from "node:readline/promises"
import { CommandError, exitCodes, usageError } from "./exit-code.ts"
import type { Invocation } from "./invocation.ts"

/** Asks the user on the terminal for a confirmation. Without a terminal the command needs `--yes`. */
export async function confirm(cli: Invocation, question: string, yes: boolean | undefined): Promise<void> {
  if (yes === true) return
  if (!cli.isInteractive) throw usageError(`${question} There is no terminal to ask on; say --yes to do it, or --dry-run to see it`)
  const { stdin, stderr, signal } = cli.io
  stderr.write(`${cli.errorStyle.bold(question)} [y/N] `)
  // With `terminal: true`, readline would catch Ctrl-C, which has to reach the process.
  const lines = createInterface({ input: stdin, terminal: false })
  try {
    const answer = await lines.question("", { signal })
    if (!/^\s*(y|yes)\s*$/i.test(answer)) throw new CommandError("NOT_CONFIRMED", exitCodes.failed, "nothing was done")
  } finally {
    lines.close()
  }
}
