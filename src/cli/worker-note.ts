import type { Invocation } from "./invocation.ts"
import type { OpenClient } from "./open-client.ts"

/** Says it where what was accepted lies there because nobody executes the workflows of the file. */
export async function noteWorker(cli: Invocation, open: OpenClient): Promise<void> {
  if ((await open.hasWorker()) === false) cli.note("accepted; no worker is running on this file")
}
