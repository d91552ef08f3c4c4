import type { Command } from "commander"
import { wholeNumber } from "../option-parsers.ts"
import { usageError } from "../exit-code.ts"
import { addFilter, filterOf, type FilterOptions } from "../filter.ts"
import type { Client, InstanceSummary, ListFilter } from "../../client-api/client-api.ts"
import type { Invocation } from "../invocation.ts"
import { instanceTable } from "../output/instance-table.ts"
import { watchList } from "../watch.ts"

export function addList(program: Command, cli: Invocation): void {
  addFilter(program.command("list"), cli.io.now)
    .option("--limit <n>", "at most so many", wholeNumber("--limit"), 50)
    .option("--cursor <cursor>", "go on after an earlier page")
    .option("--oldest", "oldest first")
    .option("--all", "every page; with --json one instance on each line")
    .option("--watch", "show it again whenever something changes")
    .action(async (options: ListOptions) => {
      if (options.watch === true && (options.all === true || options.cursor !== undefined))
        throw usageError("--watch goes with --limit only, not with --all or --cursor")
      const { client } = await cli.openClient({ isPatient: options.watch === true })
      const filter: ListFilter = {
        ...filterOf(options),
        limit: options.all === true ? 1_000 : options.limit,
        order: options.oldest === true ? "oldest" : "newest",
        ...(options.cursor === undefined ? undefined : { cursor: options.cursor }),
      }
      if (options.watch === true) return watchList(cli, client, filter)
      if (options.all === true) return printAll(cli, client, filter)
      const page = await client.list(filter)
      cli.print(page, () => instanceTable(page.instances, cli))
      if (page.cursor !== undefined && !cli.json) cli.note(`there are more: --cursor ${page.cursor}, or --all`)
    })
}

interface ListOptions extends FilterOptions {
  readonly limit: number
  readonly cursor?: string
  readonly oldest?: boolean
  readonly all?: boolean
  readonly watch?: boolean
}

async function printAll(cli: Invocation, client: Client, filter: ListFilter): Promise<void> {
  const instances: InstanceSummary[] = []
  let cursor = filter.cursor
  do {
    const page = await client.list({ ...filter, ...(cursor === undefined ? undefined : { cursor }) })
    if (cli.json) for (const instance of page.instances) cli.printLine(instance, () => "")
    else instances.push(...page.instances)
    cursor = page.cursor
  } while (cursor !== undefined && !cli.io.signal.aborted)
  if (!cli.json) cli.write(instanceTable(instances, cli))
}
