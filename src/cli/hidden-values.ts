import { isHidden } from "../core/values/redaction.ts"
import { CommandError, exitCodes } from "./exit-code.ts"
import type { OpenClient } from "./target/open-client.ts"

/**
 * Beside a file the CLI has neither the codec of your engine nor what your workflows mark as sensitive. A value that it stored would
 * lie open there, among others of its kind that do not.
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

/** The same for what an instance is sent. Only a codec hides everything: whether an event is sensitive, its workflow knows. */
export async function refuseOpenMessage(open: OpenClient, id: string, value: unknown): Promise<void> {
  if (open.target.kind === "url" || value === undefined) return
  const { input } = await open.client.describe(id)
  if (isHidden(input) && input.$perdure === "encoded") refuseOpenValue(open, value, input)
}
