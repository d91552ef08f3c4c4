import { type Command, Option } from "commander"
import { addFilter, filterOf, type FilterOptions } from "../filter.ts"
import type { Invocation } from "../invocation.ts"
import { statuses } from "../../core/journal/status.ts"
import { statusStyle } from "../output/style.ts"
import { table } from "../output/table.ts"

export function addCount(program: Command, cli: Invocation): void {
  addFilter(program.command("count"), cli.io.now)
    .addOption(new Option("--by <what>", "what to count by").choices(["status", "workflow"]).default("status"))
    .action(async (options: FilterOptions & { readonly by: "status" | "workflow" }) => {
      const { client } = await cli.openClient()
      const counts = await client.count(filterOf(options), options.by)
      cli.print(counts, () => countTable(counts, options.by, cli))
    })
}

function countTable(counts: Readonly<Record<string, number>>, by: "status" | "workflow", { style, width }: Invocation): string {
  const rows = Object.entries(counts).filter(([, count]) => count > 0)
  if (rows.length === 0) return "no instances\n"
  const place = ([name]: readonly [string, number]) => statuses.findIndex((status) => status === name)
  rows.sort(by === "status" ? (a, b) => place(a) - place(b) : ([a], [b]) => a.localeCompare(b))
  const total = rows.reduce((sum, [, count]) => sum + count, 0)
  const paint = ([name]: readonly [string, number]) => {
    const status = statuses.find((known) => known === name)
    return by === "status" && status ? statusStyle(style, status) : name === "total" ? style.bold : (text: string) => text
  }
  return table(
    [...rows, ["total", total] as const],
    [
      { title: by.toUpperCase(), text: ([name]) => name, paint, widthMin: 8 },
      { title: "COUNT", text: ([, count]) => count.toLocaleString("en"), align: "right" },
    ],
    { width, style },
  )
}
