import type { Command } from "commander"
import { jsonArgument } from "../option-parsers.ts"
import { refuseOpenMessage } from "../hidden-values.ts"
import type { Invocation } from "../invocation.ts"
import { noteWorker } from "../target/worker-banner.ts"

export function addSend(program: Command, cli: Invocation): void {
  program
    .command("send")
    .argument("<id>", "of the instance")
    .argument("<event>", "its type")
    .argument("[payload]", "as JSON; - reads it from stdin")
    .option("-f, --payload-file <file>", "read the payload from a JSON file")
    .option("--event-id <id>", "sent twice with the same id it is received once")
    .action(async (id: string, event: string, text: string | undefined, options: { readonly payloadFile?: string; readonly eventId?: string }) => {
      const payload = await jsonArgument("the payload", { text, file: options.payloadFile }, cli.io)
      const open = await cli.openClient()
      await refuseOpenMessage(open, id, payload)
      await open.client.get(id).sendEvent(event, payload, options.eventId === undefined ? {} : { eventId: options.eventId })
      cli.print({ id, event, status: "delivered" }, () => `sent ${event} to ${id}\n`)
      await noteWorker(cli, open)
    })
}
