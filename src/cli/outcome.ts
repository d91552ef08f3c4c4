import { PerdureError, ResultTimeoutError } from "../core/errors.ts"
import { isTerminal, type Status } from "../core/journal/status.ts"
import type { Client, InstanceDescription } from "../client-api/client-api.ts"
import { CommandError, exitCodes } from "./exit-code.ts"
import type { Invocation } from "./invocation.ts"
import { errorReport } from "./output/error-report.ts"
import { errorText, valueText } from "./output/value-text.ts"

/** Waits until an instance has ended or is stalled, at most `waitMs`. 0 does not wait; "unlimited" waits as long as it takes. */
export async function awaitEnd(client: Client, id: string, waitMs: number | "unlimited"): Promise<InstanceDescription> {
  const now = await client.describe(id)
  if (isTerminal(now.status) || waitMs === 0) return now
  try {
    await client.get(id).result({ rejectWhenStalled: true, ...(waitMs === "unlimited" ? undefined : { timeout: waitMs }) })
  } catch (error) {
    const then = await client.describe(id)
    // The description contains the error of the workflow, or the reason of the stall.
    if (isTerminal(then.status) || then.status === "stalled" || error instanceof ResultTimeoutError) return then
    throw error
  }
  return client.describe(id)
}

/** Prints the outcome of an instance. The exit code distinguishes completed, ended otherwise, stalled, and not ended. */
export function printOutcome(cli: Invocation, { id, workflow, status, result, error }: InstanceDescription): void {
  if (cli.json) cli.print({ id, workflow, status, result, error }, () => "")
  if (status === "completed") {
    if (!cli.json && result !== undefined) cli.write(`${valueText(result)}\n`)
    if (!cli.json && result === undefined) cli.note(`${id} completed; it has no result`)
    return
  }
  const failure = failureOf(id, status, error)
  cli.exitCode = failure.exitCode
  if (cli.json) return
  // The message of a cancel or a stall is complete without a report.
  const report = status === "failed" && error !== undefined ? { report: errorReport(error, { debug: cli.options.debug === true }) } : {}
  throw new CommandError(failure.code, failure.exitCode, failure.message, report)
}

interface OutcomeFailure {
  readonly code: string
  readonly exitCode: number
  readonly message: string
}

function failureOf(id: string, status: Status, error: unknown): OutcomeFailure {
  if (isTerminal(status))
    return { code: `INSTANCE_${status.toUpperCase()}`, exitCode: exitCodes.failed, message: `instance "${id}" ${status}: ${errorText(error)}` }
  if (status === "stalled") {
    const why = PerdureError.is(error) ? error.message : "its journal and its code disagree"
    return { code: "STALLED", exitCode: exitCodes.stalled, message: `instance "${id}" is stalled: ${why}` }
  }
  const message = `instance "${id}" is ${status} and has no result yet; perdure why ${id} says what it waits for`
  return { code: "NOT_YET", exitCode: exitCodes.notYet, message }
}
