import type { Command } from "commander"
import { thrownAt } from "../../core/values/user-stack.ts"
import type { HistoryEntry } from "../../client-api/client-api.ts"
import { wholeNumber } from "../option-parsers.ts"
import type { Invocation } from "../invocation.ts"
import { shortTime } from "../output/clock.ts"
import { table } from "../output/table.ts"
import { shortValue } from "../output/value-text.ts"

export function addHistory(program: Command, cli: Invocation): void {
  program
    .command("history")
    .argument("<id>", "of the instance")
    .option("--run <n>", "only this run", wholeNumber("--run"))
    .option("--limit <n>", "at most so many entries", wholeNumber("--limit"), 50)
    .option("--cursor <cursor>", "go on after an earlier page")
    .option("--all", "every entry; with --json one on each line")
    .action(async (id: string, options: HistoryFlags) => {
      const handle = (await cli.openClient()).client.get(id)
      let cursor = options.cursor
      let isFirst = true
      do {
        const page = await handle.history({
          limit: options.all === true ? 1_000 : options.limit,
          ...(options.run === undefined ? undefined : { run: options.run }),
          ...(cursor === undefined ? undefined : { cursor }),
        })
        cursor = page.cursor
        if (cli.json && options.all === true) for (const entry of page.entries) cli.printLine(entry, () => "")
        else cli.print(page, () => historyTable(page.entries, isFirst, cli))
        isFirst = false
      } while (options.all === true && cursor !== undefined)
      if (cursor !== undefined && !cli.json) cli.note(`there are more: --cursor ${cursor}, or --all`)
    })
}

interface HistoryFlags {
  readonly run?: number
  readonly limit: number
  readonly cursor?: string
  readonly all?: boolean
}

function historyTable(entries: readonly HistoryEntry[], withTitles: boolean, { style, width, io }: Invocation): string {
  const now = io.now()
  const drawn = table(
    entries,
    [
      { title: "POSITION", text: ({ position }) => String(position), align: "right" },
      { title: "RUN", text: ({ run }) => String(run), align: "right", spare: true },
      { title: "AT", text: ({ at }) => shortTime(at, now), paint: () => style.dim },
      { title: "TYPE", text: ({ type }) => type, paint: ({ type }) => (type.endsWith("failed") ? style.red : style.cyan) },
      { title: "WHAT", text: ({ data }) => whatOf(data), widthMin: 12 },
    ],
    { width, style },
  )
  return withTitles ? drawn : drawn.slice(drawn.indexOf("\n") + 1)
}

function whatOf({ id, value, ...rest }: HistoryEntry["data"]): string {
  const more = Object.entries(rest).map(([key, content]) => `${key}=${typeof content === "string" ? content : shortValue(content)}`)
  const named = typeof id === "string" ? [id] : []
  const at = thrownAt(value)
  return [...named, ...more, ...(value === undefined ? [] : [shortValue(value)]), ...(at === undefined ? [] : [`at ${at}`])].join("  ")
}
