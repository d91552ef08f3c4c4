import type { Invocation } from "../invocation.ts"
import type { OpenClient } from "./open-client.ts"
import { isAddress } from "./database-argument.ts"

export function noWorker({ target }: OpenClient): string {
  return `no worker is running on this ${target.kind === "db" && isAddress(target.db) ? "database" : "file"}`
}

/** Notes that an accepted request has to wait if no process executes the workflows of the database. */
export async function noteWorker(cli: Invocation, open: OpenClient): Promise<void> {
  if ((await open.hasWorker()) === false) cli.note(`accepted; ${noWorker(open)}`)
}
