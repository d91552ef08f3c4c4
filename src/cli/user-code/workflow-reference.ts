import { workflow } from "../../core/workflow/workflow.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { OpenClient } from "../target/open-client.ts"

export interface KnownWorkflow {
  readonly version?: string
  readonly queue?: string
  /** The id of an instance of the workflow. */
  readonly instance?: string
}

/**
 * A workflow by its name, for a client without code. A server chooses the version and the task queue itself. On a database the version is the last one
 * that a running worker offers, or else the version of the newest instance. The task queue is the one of the newest instance.
 */
export async function knownWorkflow({ client, known }: OpenClient, name: string, given: KnownWorkflow): Promise<KnownWorkflow> {
  if (!known) return given
  const version = given.version ?? (await known.versionOf(name))
  const newest = (await client.list({ workflow: name, limit: 1, ...(version === undefined ? undefined : { version }) })).instances[0]
  return {
    ...given,
    ...(version === undefined ? undefined : { version }),
    ...(newest && { queue: given.queue ?? newest.queue, instance: newest.id }),
  }
}

/** A definition whose code is never called. A client takes only its name and version. */
export function definitionOf(name: string, version: string): AnyWorkflow {
  return workflow(name, { version }, async () => undefined)
}
