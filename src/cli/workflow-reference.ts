import { workflow } from "../core/workflow.ts"
import type { AnyWorkflow } from "../core/workflow.ts"
import { CommandError, exitCodes } from "./exit-code.ts"
import type { OpenClient } from "./open-client.ts"

export interface KnownWorkflow {
  readonly version?: string
  readonly queue?: string
  /** An instance of it. */
  readonly instance?: string
}

/**
 * A workflow by its name, for a client that has no code. A server knows which version is meant, and its task queue. Beside a
 * database file nobody does: there they are those of the newest instance, unless they are given.
 */
export async function knownWorkflow({ client, target }: OpenClient, name: string, given: KnownWorkflow): Promise<KnownWorkflow> {
  if (target.kind === "url") return given
  const { version } = given
  const newest = (await client.list({ workflow: name, limit: 1, ...(version === undefined ? undefined : { version }) })).instances[0]
  if (newest) return { version: given.version ?? newest.version, queue: given.queue ?? newest.queue, instance: newest.id }
  if (version !== undefined) return given
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
