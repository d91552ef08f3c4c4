import type { Command } from "commander"
import type { Client, HistoryEntry, InstanceDescription } from "../../client-api/client-api.ts"
import type { Invocation } from "../invocation.ts"
import { attemptsOf } from "../output/attempts.ts"
import { instancePage } from "../output/instance-page.ts"

const rowsMax = 40

export function addShow(program: Command, cli: Invocation): void {
  program
    .command("show")
    .argument("<id>", "of the instance")
    .option("--all", `draw every step; default: where there are more than ${rowsMax}, those between are folded`)
    .option("--full", "values as long as they are, and errors with their stack")
    .action(async (id: string, options: { readonly all?: boolean; readonly full?: boolean }) => {
      const { client } = await cli.openClient()
      const instance = await client.describe(id)
      const attempts = cli.json ? new Map() : attemptsOf(await triedAgain(client, instance))
      cli.print(instance, () =>
        instancePage(instance, {
          now: cli.io.now(),
          width: cli.width,
          style: cli.style,
          attempts,
          rowsMax: options.all === true ? Infinity : rowsMax,
          full: options.full === true,
          debug: cli.options.debug === true,
        }),
      )
    })
}

/** The entries that say when each attempt ran. They are read only if a step has more than one attempt. */
async function triedAgain(client: Client, { id, run, steps }: InstanceDescription): Promise<readonly HistoryEntry[]> {
  if (!steps.some(({ attempts }) => attempts > 1)) return []
  const entries: HistoryEntry[] = []
  let cursor: string | undefined
  do {
    const page = await client.get(id).history({ run, limit: 1_000, ...(cursor === undefined ? undefined : { cursor }) })
    entries.push(...page.entries)
    cursor = page.cursor
  } while (cursor !== undefined)
  return entries
}
