import type { Command } from "commander"
import type { Invocation } from "../invocation.ts"
import { changeLine } from "../output/change-line.ts"

/** As the cursor: the stream is followed from its first change. */
const beginning = "beginning"
const endings = new Set(["workflow.completed", "workflow.failed", "workflow.cancelled", "workflow.terminated"])

export function addTail(program: Command, cli: Invocation): void {
  program
    .command("tail")
    .argument("[id]", "only of this instance")
    .option("--since <cursor>", `from there on: the cursor of a change, "${beginning}" or "latest"; default: of one instance everything, of all from now on`)
    .option("-w, --workflow <name>", "only of this workflow")
    .option("--until-end", "of one instance: stop when it is over")
    .action(async (id: string | undefined, options: TailOptions) => {
      const { client } = await cli.openClient({ isPatient: true })
      // This throws for an unknown id, which would otherwise be followed for ever.
      if (id !== undefined) await client.describe(id)
      const since = options.since ?? (id === undefined ? "latest" : beginning)
      const from = since === beginning ? undefined : since
      const changes = id === undefined ? client.changes(from) : client.get(id).changes(from)
      let cursor: string | undefined
      cli.io.signal.addEventListener("abort", () => {
        if (cursor !== undefined && !cli.json) cli.note(`\ngo on with --since ${cursor}`)
      })
      for await (const change of changes) {
        if (cli.io.signal.aborted) return
        cursor = change.cursor
        if (options.workflow !== undefined && change.workflow !== options.workflow) continue
        cli.printLine(change, () => changeLine(change, { style: cli.style, width: cli.width, now: cli.io.now() }))
        if (options.untilEnd === true && id !== undefined && endings.has(change.type)) return
      }
    })
}

interface TailOptions {
  readonly since?: string
  readonly workflow?: string
  readonly untilEnd?: boolean
}
