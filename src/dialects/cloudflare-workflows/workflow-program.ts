import type { Client } from "../../client-api/client-api.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import { durationMs, type Duration } from "../../core/time/duration.ts"
import { nativeCron } from "./cloudflare-cron.ts"
import { cronOf, cronScheduleId } from "./instance-id.ts"
import type { Surroundings } from "./entrypoint-construction.ts"
import { WorkflowBinding } from "./workflow-binding.ts"
import { specOf, workflowDefinition, workflowNameOf, type WorkflowSpec } from "./workflow-definition.ts"
import type { WorkflowEntrypointClass, WorkflowEvent } from "./workflow-entrypoint.ts"

/** A class, or a class with the options of wrangler.jsonc, for each binding. */
export type WorkflowSources = Readonly<Record<string, WorkflowEntrypointClass | WorkflowSpec>>

/** A binding for each workflow, with the type of its payload. */
export type WorkflowBindings<W extends WorkflowSources> = { readonly [K in keyof W]: WorkflowBinding<ParamsOf<W[K]>> }

type ParamsOf<S> = S extends { readonly class: infer C } ? ParamsOfClass<C> : ParamsOfClass<S>
// oxlint-disable-next-line typescript/no-explicit-any -- the payload is inferred, whatever the env is
type ParamsOfClass<C> = C extends new (...args: any[]) => { run(event: Readonly<WorkflowEvent<infer Params>>, step: any): unknown } ? Params : unknown

/** What the dialect does where a program says nothing. */
export interface DialectOptions {
  /** Before a step's second attempt, where its config names no delay. Default 10 seconds, as in production at Cloudflare. */
  readonly retryDelay?: Duration
}

export interface Program {
  readonly definitions: readonly AnyWorkflow[]
  readonly bindings: Readonly<Record<string, WorkflowBinding>>
  readonly exports: Readonly<Record<string, WorkflowBinding>>
  /** The bindings, by the names of the workflows. */
  readonly workflows: Readonly<Record<string, WorkflowBinding>>
}

/** The native workflows and the bindings of a program. `client` is asked for when a binding is first used. */
export function program(
  sources: WorkflowSources,
  { retryDelay = "10s" }: DialectOptions,
  client: () => Client | Promise<Client>,
  surroundings: () => Promise<Surroundings> | Surroundings,
): Program {
  const retryDelayMs = durationMs(retryDelay, "retryDelay")
  const entries = Object.entries(sources).map(([binding, source]) => {
    const spec = specOf(source)
    const definition = workflowDefinition(workflowNameOf(binding, spec), spec, { retryDelayMs, surroundings })
    return { binding, className: spec.class.name, definition, handle: new WorkflowBinding(binding, definition, client) }
  })
  return {
    definitions: entries.map(({ definition }) => definition),
    bindings: Object.fromEntries(entries.map(({ binding, handle }) => [binding, handle])),
    exports: Object.fromEntries(entries.map(({ className, handle }) => [className, handle])),
    workflows: Object.fromEntries(entries.map(({ definition, handle }) => [definition.name, handle])),
  }
}

/** Makes the store's cron schedules of these workflows those of the program: creates what is missing, deletes what the program no longer has. */
export async function syncSchedules(client: Client, sources: WorkflowSources): Promise<void> {
  const wanted = new Map<string, { readonly cron: string; readonly workflow: string }>()
  const names = new Set<string>()
  for (const [binding, source] of Object.entries(sources)) {
    const spec = specOf(source)
    const workflow = workflowNameOf(binding, spec)
    names.add(workflow)
    for (const cron of [spec.schedules ?? []].flat()) wanted.set(cronScheduleId(workflow, cron), { cron, workflow })
  }
  for (const [id, { cron, workflow }] of wanted)
    await client.schedules.create(id, { workflow, cron: nativeCron(cron), overlap: "allow", ifExists: "update" } as never)
  for (const workflow of names) await deleteOthers(client, workflow, wanted)
}

async function deleteOthers(client: Client, workflow: string, wanted: ReadonlyMap<string, unknown>): Promise<void> {
  let cursor: string | undefined
  do {
    const page = await client.schedules.list({ workflow, ...(cursor === undefined ? undefined : { cursor }) })
    const surplus = page.schedules.filter(({ id }) => cronOf(workflow, id) !== undefined && !wanted.has(id))
    for (const { id } of surplus) await client.schedules.get(id).delete()
    cursor = page.cursor
  } while (cursor !== undefined)
}
