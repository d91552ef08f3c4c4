import { isTerminal } from "../core/status.ts"
import { ResultTimeoutError } from "../core/errors.ts"
import type { Client, InstanceDescription } from "../engine/client.ts"
import { CommandError, exitCodes } from "./exit-code.ts"
import type { Invocation } from "./invocation.ts"
import { errorReport } from "./output/error-report.ts"
import { errorText, valueText } from "./output/value-text.ts"

/** Waits until an instance is over, or the time is up; "unlimited" for as long as it takes, 0 not at all. */
export async function awaitEnd(client: Client, id: string, waitMs: number | "unlimited"): Promise<InstanceDescription> {
  const now = await client.describe(id)
  if (isTerminal(now.status) || waitMs === 0) return now
  try {
    await client.get(id).result(waitMs === "unlimited" ? {} : { timeout: waitMs })
  } catch (error) {
    const then = await client.describe(id)
    // What the workflow threw is in the description.
    if (isTerminal(then.status) || error instanceof ResultTimeoutError) return then
    throw error
  }
  return client.describe(id)
}

/** Prints what became of an instance; the exit code tells completed, ended otherwise and not ended apart. */
export function printOutcome(cli: Invocation, { id, workflow, status, result, error }: InstanceDescription): void {
  if (cli.json) cli.print({ id, workflow, status, result, error }, () => "")
  if (status === "completed") {
    if (!cli.json && result !== undefined) cli.write(`${valueText(result)}\n`)
    if (!cli.json && result === undefined) cli.note(`${id} completed; it has no result`)
    return
  }
  const [code, exitCode, message] = isTerminal(status)
    ? [`INSTANCE_${status.toUpperCase()}`, exitCodes.failed, `instance "${id}" ${status}: ${errorText(error)}`]
    : ["NOT_YET", exitCodes.notYet, `instance "${id}" is ${status}; it goes on, see perdure why ${id}`]
  if (!cli.json)
    throw new CommandError(code, exitCode, message, error === undefined ? {} : { report: errorReport(error, { debug: cli.options.debug === true }) })
  cli.exitCode = exitCode
}
