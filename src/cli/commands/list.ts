import type { Command } from "commander"
import type { ListFilter } from "../../engine/client.ts"
import type { Invocation } from "../invocation.ts"
import { addFilter, filterOf, type FilterOptions } from "../filter.ts"
import { instanceTable } from "../output/instance-table.ts"
import { wholeNumber } from "../argument.ts"

export function addList(program: Command, cli: Invocation): void {
  addFilter(program.command("list"), cli.io.now)
    .option("--limit <n>", "at most so many", wholeNumber("--limit"), 50)
    .option("--cursor <cursor>", "go on after an earlier page")
    .option("--oldest", "oldest first")
    .option("--all", "every page")
    .action(async (options: ListOptions) => {
      const { client } = await cli.openClient()
      const filter: ListFilter = {
        ...filterOf(options),
        limit: options.limit,
        order: options.oldest === true ? "oldest" : "newest",
        ...(options.cursor === undefined ? undefined : { cursor: options.cursor }),
      }
      const page = await client.list(filter)
      cli.print(page, () => instanceTable(page.instances, cli))
    })
}

interface ListOptions extends FilterOptions {
  readonly limit: number
  readonly cursor?: string
  readonly oldest?: boolean
  readonly all?: boolean
}
