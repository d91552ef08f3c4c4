import { PerdureError } from "../core/errors.ts"
import { checkEventType, checkWorkflowName, type Limits } from "../core/workflow/input-limits.ts"
import { defaultQueue } from "../core/workflow/task-queue.ts"
import type { AnyWorkflow } from "../core/workflow/workflow.ts"
import { definitionOf, type WorkflowSource } from "../core/workflow/workflow-source.ts"
import type { Offer } from "../ports/journal-store.ts"
import type { WorkflowInfo } from "../client-api/client-api.ts"
import { activityWorkflow } from "./tasks/activity-workflow.ts"

/** The workflows whose code an engine has, by name and version. */
export class WorkflowRegistry {
  readonly #byName = new Map<string, Map<string, AnyWorkflow>>()
  /** The types of events for which a workflow has a schema. */
  readonly #checkedEvents = new Set<string>()
  readonly #queues: readonly string[] | undefined
  /** Definitions that callers of this process have used, by name and version. This engine answers queries with them, and executes nothing. */
  readonly #remembered = new Map<string, AnyWorkflow>()
  #offers: readonly Offer[] | undefined

  /** `queues`: the task queues that the engine serves; undefined: all. */
  constructor(workflows: readonly WorkflowSource[], limits: Limits, queues?: readonly string[]) {
    this.#queues = queues
    for (const workflow of workflows.map(definitionOf)) {
      checkWorkflowName(workflow.name, limits.workflowNameLengthMax)
      for (const type of Object.keys(workflow.options.events ?? {})) {
        checkEventType(type, limits.eventTypeLengthMax)
        this.#checkedEvents.add(type)
      }
      const versions = this.#byName.get(workflow.name) ?? new Map<string, AnyWorkflow>()
      if (versions.has(workflow.version)) {
        throw new PerdureError(
          "BAD_OPTION",
          `workflow "${workflow.name}" is registered twice with version "${workflow.version}"; give one of them another version`,
        )
      }
      versions.set(workflow.version, workflow)
      this.#byName.set(workflow.name, versions)
    }
  }

  get offers(): readonly Offer[] {
    this.#offers ??= [...this.#byName].flatMap(([workflow, versions]) =>
      [...versions.keys()].map((version) => {
        const queues = this.queuesOf(workflow)
        return { workflow, version, ...(queues && { queues }) }
      }),
    )
    return this.#offers
  }

  /**
   * The task queues whose instances of this workflow the engine executes. Undefined: all. The built-in workflow has no code of users and runs in every
   * worker, because only its activity has to run in a worker of the queue.
   */
  queuesOf(workflow: string): readonly string[] | undefined {
    return workflow === activityWorkflow.name ? undefined : this.#queues
  }

  /** This engine executes instances of exactly this definition in this task queue. */
  executes(workflow: AnyWorkflow, queue: string = defaultQueue): boolean {
    return this.find(workflow.name, workflow.version) === workflow && this.queuesOf(workflow.name)?.includes(queue) !== false
  }

  get names(): readonly string[] {
    return [...this.#byName.keys()]
  }

  get infos(): readonly WorkflowInfo[] {
    return [...this.#byName].map(([name, workflows]) => {
      const versions = [...workflows.keys()]
      return { name, version: versions.at(-1) ?? "", versions }
    })
  }

  versions(name: string): readonly string[] {
    return [...(this.#byName.get(name)?.keys() ?? [])]
  }

  find(name: string, version: string): AnyWorkflow | undefined {
    return this.#byName.get(name)?.get(version)
  }

  /** A caller of this process has the definition, so its code can answer queries. */
  remember(workflow: AnyWorkflow): void {
    if (!this.find(workflow.name, workflow.version)) this.#remembered.set(rememberedKey(workflow.name, workflow.version), workflow)
  }

  /** The code for queries. */
  findForQuery(name: string, version: string): AnyWorkflow | undefined {
    return this.find(name, version) ?? this.#remembered.get(rememberedKey(name, version))
  }

  /** The engine has this version, or, without a version, any version of the workflow. */
  has(name: string, version: string | undefined): boolean {
    return version === undefined ? this.#byName.has(name) : this.find(name, version) !== undefined
  }

  /** A workflow has a schema for this type of event, so the payload may have to be checked before it is sent. */
  checksEvent(type: string): boolean {
    return this.#checkedEvents.has(type)
  }

  /** The workflow and version of a start by name. The version need not be registered here if it is given. Undefined: the version is not known here. */
  identify(name: string, version: string | undefined): { readonly name: string; readonly version: string } | undefined {
    if (version !== undefined) return { name, version }
    return this.has(name, undefined) ? this.resolve(name, undefined) : undefined
  }

  /** The given version, or the version that was registered last. */
  resolve(name: string, version: string | undefined): AnyWorkflow {
    const versions = this.#byName.get(name)
    const found = version === undefined ? [...(versions?.values() ?? [])].at(-1) : versions?.get(version)
    if (found) return found
    throw this.unknown(name, version)
  }

  unknown(name: string, version: string | undefined): PerdureError {
    const versions = this.#byName.get(name)
    const known = versions
      ? `; it has version ${[...versions.keys()].map((v) => `"${v}"`).join(", ")}`
      : `; it knows ${this.names.length === 0 ? "none" : this.names.map((n) => `"${n}"`).join(", ")}`
    const which = version === undefined ? `workflow "${name}"` : `version "${version}" of workflow "${name}"`
    return new PerdureError("UNKNOWN_WORKFLOW", `this engine has no ${which}${known}. Pass it to Perdure.open({ workflows: […] })`, {
      details: { workflow: name, version },
    })
  }
}

function rememberedKey(name: string, version: string): string {
  return JSON.stringify([name, version])
}
