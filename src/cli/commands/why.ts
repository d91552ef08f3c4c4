import type { Command } from "commander"
import type { Why } from "../../client-api/client-api.ts"
import type { Invocation } from "../invocation.ts"
import { relativeTime, shortTime } from "../output/clock.ts"
import { oneLine } from "../output/plain-text.ts"
import { statusStyle } from "../output/style.ts"

export function addWhy(program: Command, cli: Invocation): void {
  program
    .command("why")
    .argument("<id>", "of the instance")
    .action(async (id: string) => {
      const open = await cli.openClient()
      const why = await open.client.why(id)
      cli.print(why, () => whyText(id, why, cli))
    })
}

function whyText(id: string, { status, because, next }: Why, { style, io }: Invocation): string {
  const head = `${style.bold(id)} is ${statusStyle(style, status)(status)}`
  const reasons = because.map((reason) => `  ${oneLine(reason)}`)
  const after = next ? [`${style.dim("next:")} ${oneLine(next.what)} ${relativeTime(next.at, io.now())} (${shortTime(next.at, io.now())})`] : []
  return `${[head, ...reasons, ...after].join("\n")}\n`
}
