import type { Command } from "commander"
import { duration } from "../option-parsers.ts"
import type { Invocation } from "../invocation.ts"
import { awaitEnd, printOutcome } from "../outcome.ts"

export function addResult(program: Command, cli: Invocation): void {
  program
    .command("result")
    .argument("<id>", "of the instance")
    .option("--wait [duration]", "wait until it is over, at most so long (30s); without a duration: as long as it takes")
    .action(async (id: string, options: { readonly wait?: string | true }) => {
      const wait = options.wait === undefined ? 0 : options.wait === true ? "unlimited" : duration("--wait")(options.wait)
      const { client } = await cli.openClient({ isPatient: wait === "unlimited" })
      printOutcome(cli, await awaitEnd(client, id, wait))
    })
}
