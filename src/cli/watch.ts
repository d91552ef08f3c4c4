import { setTimeout } from "node:timers/promises"
import type { Client, InstanceSummary, ListFilter } from "../client-api/client-api.ts"
import type { Invocation } from "./invocation.ts"
import { shortTime } from "./output/clock.ts"
import { instanceTable } from "./output/instance-table.ts"

const everyMs = 1_000
const hideCursor = "\u001b[?25l"
const showCursor = "\u001b[?25h"

/** Shows a list of instances until Ctrl-C. A terminal shows the current list in place; otherwise each new or changed instance is printed as a line. */
export async function watchList(cli: Invocation, client: Client, filter: ListFilter): Promise<void> {
  const draw = cli.io.stdout.isTTY === true && !cli.json ? drawn(cli) : lines(cli)
  while (!cli.io.signal.aborted) {
    draw((await client.list(filter)).instances)
    await setTimeout(everyMs, undefined, { signal: cli.io.signal })
  }
}

type Draw = (instances: readonly InstanceSummary[]) => void

function drawn(cli: Invocation): Draw {
  cli.write(hideCursor)
  cli.onClose(async () => cli.write(showCursor))
  return (instances) => {
    const rows = Math.max(3, (cli.io.stdout.rows ?? 24) - 2)
    const table = instanceTable(instances, cli).split("\n").slice(0, rows).join("\n").trimEnd()
    const foot = cli.style.dim(`${shortTime(cli.io.now(), cli.io.now())} · every second · Ctrl-C ends it`)
    // The cursor goes home and each line clears the rest of the old line, because clearing the screen would flicker.
    cli.write(`\u001b[H${`${table}\n${foot}`.replaceAll("\n", "\u001b[K\n")}\u001b[K\n\u001b[J`)
  }
}

function lines(cli: Invocation): Draw {
  const seen = new Map<string, string>()
  return (instances) => {
    for (const instance of instances) {
      const { id, workflow, version, status, phase, run, updatedAt } = instance
      const state = `${run} ${status} ${phase ?? ""} ${updatedAt}`
      if (seen.get(id) === state) continue
      seen.set(id, state)
      const now = phase === undefined ? status : `${status} (${phase})`
      cli.printLine(instance, () => `${shortTime(updatedAt, cli.io.now())}  ${id}  ${workflow}@${version}  ${now}`)
    }
  }
}
