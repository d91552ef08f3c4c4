import { workflow } from "../../core/workflow/workflow.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { OpenClient } from "../target/open-client.ts"

export interface KnownWorkflow {
  readonly version?: string
  readonly queue?: string
  /** An instance of it. */
  readonly instance?: string
}

/**
 * A workflow by its name, for a client that has no code. A server knows which version is meant, and its task queue. Beside a database the
 * version is the last that a running worker offers, else that of the newest instance; the task queue is that of the newest instance.
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

/** A definition whose code is never called: an engine that only asks takes its name and version. */
export function definitionOf(name: string, version: string): AnyWorkflow {
  return workflow(name, { version }, async () => undefined)
}
