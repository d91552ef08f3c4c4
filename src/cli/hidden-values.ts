import { isHidden } from "../core/values/redaction.ts"
import { CommandError, exitCodes } from "./exit-code.ts"
import type { OpenClient } from "./target/open-client.ts"

/**
 * On a database file the CLI has neither the codec of the user's engine nor the sensitive marks of the workflows. It would store a value in the clear
 * beside values that are encrypted or redacted, so it refuses.
 */
export function refuseOpenValue({ target }: OpenClient, value: unknown, alike: unknown): void {
  if (target.kind === "url" || value === undefined || !isHidden(alike)) return
  const why =
    alike.$perdure === "encoded" ? "are encoded, and the CLI has no codec" : "are marked as sensitive, and the CLI does not have the workflow that says so"
  throw new CommandError(
    "HIDDEN_VALUES",
    exitCodes.failed,
    `values like this one ${why}: it would be stored for everybody to read; go through a server (--url)`,
  )
}

/** Refuses a message that an engine would store encrypted. Only a codec is checked, because only the workflow knows whether an event is sensitive. */
export async function refuseOpenMessage(open: OpenClient, id: string, value: unknown): Promise<void> {
  if (open.target.kind === "url" || value === undefined) return
  const { input } = await open.client.describe(id)
  if (isHidden(input) && input.$perdure === "encoded") refuseOpenValue(open, value, input)
}
