import { workflow } from "../core/workflow.ts"
import type { AnyWorkflow } from "../core/workflow.ts"
import { CommandError, exitCodes } from "./exit-code.ts"
import type { OpenClient } from "./open-client.ts"

/**
 * A workflow by its name, for a client that has no code. A server knows which version is meant. Beside a database file nobody does:
 * there it is the version of the newest instance, unless one is given.
 */
export async function versionOf({ client, target }: OpenClient, name: string, version: string | undefined): Promise<string | undefined> {
  if (version !== undefined || target.kind === "url") return version
  const newest = (await client.list({ workflow: name, limit: 1 })).instances[0]
  if (newest) return newest.version
  throw new CommandError(
    "UNKNOWN_WORKFLOW",
    exitCodes.notFound,
    `this database has no instance of workflow "${name}" yet, so nothing is known of it; say --version (a workflow that gives none has "1")`,
  )
}

/** A definition whose code is never called: an engine that only asks takes its name and version. */
export function definitionOf(name: string, version: string): AnyWorkflow {
  return workflow(name, { version }, async () => undefined)
}
