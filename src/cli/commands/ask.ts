import type { Command } from "commander"
import { PerdureError } from "../../core/errors.ts"
import { duration, jsonArgument } from "../option-parsers.ts"
import { CommandError, exitCodes } from "../exit-code.ts"
import { refuseOpenMessage } from "../hidden-values.ts"
import type { Invocation } from "../invocation.ts"
import { valueText } from "../output/value-text.ts"
import { noWorker } from "../target/worker-banner.ts"

/** Queries and updates, which the code of an instance answers. */

export function addQuery(program: Command, cli: Invocation): void {
  program
    .command("query")
    .argument("<id>", "of the instance")
    .argument("<name>", "of the query")
    .argument("[arguments...]", "each as JSON")
    .action(async (id: string, name: string, texts: readonly string[]) => {
      const args = await jsonArguments(texts, cli)
      const { client, target } = await cli.openClient()
      try {
        printAnswer(cli, await client.query(id, name, ...args))
      } catch (error) {
        if (target.kind === "url" || !PerdureError.is(error, "NO_WORKER")) throw error
        throw new CommandError(
          "NO_WORKER",
          exitCodes.unreachable,
          "a query is answered by the workflow's code, which the CLI does not have; ask a server (--url), or in your program",
          { cause: error },
        )
      }
    })
}

export function addUpdate(program: Command, cli: Invocation): void {
  program
    .command("update")
    .argument("<id>", "of the instance")
    .argument("<name>", "of the update")
    .argument("[arguments...]", "each as JSON")
    .option("--wait <duration>", "for the answer, at most so long; default: as long as it takes", duration("--wait"))
    .action(async (id: string, name: string, texts: readonly string[], options: { readonly wait?: number }) => {
      const args = await jsonArguments(texts, cli)
      const open = await cli.openClient()
      await refuseOpenMessage(open, id, args[0])
      const answer = open.client.update(id, name, ...args)
      // The answer may be rejected before the command awaits it, while the command still looks for a worker.
      answer.catch(() => undefined)
      if ((await open.hasWorker()) === false) cli.note(`${noWorker(open)}; the update is kept, and answered when one does`)
      printAnswer(cli, await (options.wait === undefined ? answer : Promise.race([answer, tooLate(cli, id, name, options.wait)])))
    })
}

function printAnswer(cli: Invocation, answer: unknown): void {
  cli.print(answer, () => (answer === undefined ? "" : `${valueText(answer)}\n`), { isValue: true })
}

function jsonArguments(texts: readonly string[], cli: Invocation): Promise<readonly unknown[]> {
  return Promise.all(texts.map((text, index) => jsonArgument(`argument ${index + 1}`, { text }, cli.io)))
}

function tooLate(cli: Invocation, id: string, name: string, waitMs: number): Promise<never> {
  return new Promise((_, reject) => {
    const timer = setTimeout(() => {
      reject(new CommandError("NOT_YET", exitCodes.notYet, `instance "${id}" has not answered update "${name}"; it is kept, and done when its turn comes`))
    }, waitMs)
    cli.onClose(async () => clearTimeout(timer))
  })
}
