import type { Command } from "commander"
import { isTerminal } from "../../core/journal/status.ts"
import type { ControlResult } from "../../client-api/client-api.ts"
import { jsonArgument } from "../option-parsers.ts"
import { exitCodes } from "../exit-code.ts"
import { refuseOpenValue } from "../hidden-values.ts"
import type { Invocation } from "../invocation.ts"
import type { OpenClient } from "../target/open-client.ts"
import { noteWorker } from "../target/worker-banner.ts"

/** Commands that change one instance. */

export function addPause(program: Command, cli: Invocation): void {
  instanceCommand(program, "pause")
    .option("--reason <text>", "kept in its history")
    .action(async (id: string, { reason }: Reason) => {
      const open = await cli.openClient()
      await printControl(cli, open, "pause", await open.client.pause(id, reason))
    })
}

export function addResume(program: Command, cli: Invocation): void {
  instanceCommand(program, "resume").action(async (id: string) => {
    const open = await cli.openClient()
    await printControl(cli, open, "resume", await open.client.resume(id))
  })
}

export function addCancel(program: Command, cli: Invocation): void {
  instanceCommand(program, "cancel")
    .option("--reason <text>", "its code and its history get it")
    .action(async (id: string, { reason }: Reason) => {
      const open = await cli.openClient()
      await printControl(cli, open, "cancel", await open.client.cancel(id, reason))
    })
}

export function addTerminate(program: Command, cli: Invocation): void {
  instanceCommand(program, "terminate")
    .option("--reason <text>", "kept in its history")
    .option("--rollback", "undo completed steps first")
    .action(async (id: string, { reason, rollback }: Reason & { readonly rollback?: boolean }) => {
      const open = await cli.openClient()
      const options = { ...(reason === undefined ? undefined : { reason }), ...(rollback === undefined ? undefined : { rollback }) }
      await printControl(cli, open, "terminate", await open.client.terminate(id, options))
    })
}

export function addRestart(program: Command, cli: Invocation): void {
  instanceCommand(program, "restart")
    .option("--from <step>", "keep what was recorded before this step")
    .action(async (id: string, { from }: { readonly from?: string }) => {
      const open = await cli.openClient()
      await printControl(cli, open, "restart", await open.client.restart(id, from === undefined ? {} : { from }))
    })
}

export function addFork(program: Command, cli: Invocation): void {
  instanceCommand(program, "fork")
    .requiredOption("--id <id>", "of the new instance")
    .option("--from <step>", "begin with what was recorded before this step; default: with nothing but the input")
    .option("--input <json>", "another input; - reads it from stdin")
    .action(async (id: string, options: { readonly id: string; readonly from?: string; readonly input?: string }) => {
      const input = await jsonArgument("the input", { text: options.input }, cli.io)
      const open = await cli.openClient()
      if (input !== undefined) refuseOpenValue(open, input, (await open.client.describe(id)).input)
      const fork = { id: options.id, ...(options.from === undefined ? undefined : { from: options.from }), ...(input === undefined ? undefined : { input }) }
      const handle = await open.client.fork(id, fork)
      cli.print({ id: handle.id, of: id }, () => `${handle.id}\n`)
      await noteWorker(cli, open)
    })
}

export function addDelete(program: Command, cli: Invocation): void {
  instanceCommand(program, "delete").action(async (id: string) => {
    const { client } = await cli.openClient()
    const { stillListed } = await client.delete(id)
    const note = stillListed ? "; the index did not answer, so a list may show it until it does" : ""
    cli.print({ id, deleted: true, ...(stillListed ? { stillListed } : undefined) }, () => `deleted ${id}${note}\n`)
  })
}

interface Reason {
  readonly reason?: string
}

function instanceCommand(program: Command, name: string): Command {
  return program.command(name).argument("<id>", "of the instance")
}

/** Prints the result. The exit code is 1 if the control changed nothing. */
async function printControl(cli: Invocation, open: OpenClient, action: string, result: ControlResult): Promise<void> {
  const { id, accepted, status, phase, reason } = result
  if (!accepted) cli.exitCode = exitCodes.failed
  const now = phase === undefined ? status : `${status}, ${phase}`
  cli.print(result, () => (accepted ? `${action} of ${id} accepted: it is ${now}\n` : `${cli.style.yellow("no")}, ${id} stays ${now}: ${reason ?? ""}\n`))
  if (accepted && !isTerminal(status)) await noteWorker(cli, open)
}
