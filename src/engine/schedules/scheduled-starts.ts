import { type Encoded, encodeValue, type Payload } from "../../core/values/value-codec.ts"
import { durationMs } from "../../core/time/duration.ts"
import { PerdureError } from "../../core/errors.ts"
import { storedPayload } from "../../core/values/encoded-payload.ts"
import type { Schedule } from "../../core/time/schedule.ts"
import { declaredEvents } from "../../core/workflow/declared-events.ts"
import { retentionMs } from "../../core/workflow/retention.ts"
import { validate } from "../../core/workflow/standard-schema.ts"
import { storedQueue } from "../../core/workflow/task-queue.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { UniqueUse } from "../../ports/flow-control.ts"
import type { Turn } from "../../ports/journal-store.ts"
import { flowTraits } from "../flow-control/flow-keys.ts"
import { singletonOf } from "../flow-control/singletons.ts"
import type { WorkflowRegistry } from "../workflow-registry.ts"
import type { Resolved, InstanceStarter } from "../instances/instance-starter.ts"
import { randomToken } from "../random-token.ts"
import type { Worker } from "../worker/worker.ts"

/** Prepares the starts of schedules: the input that a schedule keeps, and the turns that create its instances. */
export class ScheduledStarts {
  readonly #starter: InstanceStarter
  readonly #registry: WorkflowRegistry
  readonly #worker: Worker

  constructor(starter: InstanceStarter, registry: WorkflowRegistry, worker: Worker) {
    this.#starter = starter
    this.#registry = registry
    this.#worker = worker
  }

  /** Validates the input of a schedule, and encodes the value that the schema returns. */
  async input(workflow: AnyWorkflow | string, input: unknown, storedVersion?: string): Promise<ScheduledInput> {
    const { name, version, definition } = this.#resolve(workflow, storedVersion)
    const schema = definition?.options.input
    const value = schema ? await validate(schema, input, { code: "INVALID_INPUT", what: `the input of workflow "${name}"` }) : input
    if (definition?.options.debounce)
      throw new PerdureError("BAD_OPTION", `workflow "${name}" is debounced, so a schedule cannot start it; remove debounce, or start it without a schedule`)
    const encoded = encodeValue(value, { what: "input", bytesMax: this.#worker.settings.limits.payloadBytesMax })
    // Throws now if no singleton key can be computed from the input.
    this.singleton(name, version, encoded)
    return {
      workflow: name,
      version,
      input: this.#worker.settings.codecs?.encode(encoded) ?? encoded,
      ...(definition?.options.sensitive?.input ? { sensitive: true } : undefined),
    }
  }

  isSingleton(workflow: string, storedVersion: string | undefined): boolean {
    const { singleton = false } = this.#resolve(workflow, storedVersion).definition?.options ?? {}
    return singleton !== false
  }

  /** The singleton key of an instance of a schedule. */
  singleton(workflow: string, storedVersion: string | undefined, input: Encoded): UniqueUse | undefined {
    const { definition } = this.#resolve(workflow, storedVersion)
    return definition && this.isSingleton(workflow, storedVersion) ? singletonOf(flowTraits(definition, this.#inputOf(input).decode(), undefined)) : undefined
  }

  /** The turn that creates an instance of a schedule. */
  turn({
    id,
    workflow,
    input,
    definition: { version: storedVersion, tags = [], timeoutMs, taskQueue, sensitive: isSensitive },
    schedule,
  }: ScheduledStart): Turn {
    const { version, definition } = this.#resolve(workflow, storedVersion)
    const { host } = this.#worker
    const timeout = timeoutMs ?? definition?.options.timeout
    const retention = definition?.options.retention
    const now = host.now()
    const singleton = this.singleton(workflow, storedVersion, input)
    const queue = storedQueue(taskQueue ?? definition?.options.taskQueue)
    const events = declaredEvents(definition?.options)
    const identity = { id, incarnation: randomToken(host), workflow, version, createdAt: now, tags, ...queue, ...(events && { events }) }
    return this.#starter.creationTurn({
      definition,
      // A worker assigns the limits when it claims the instance.
      debounce: undefined,
      instance: singleton ? { ...identity, flow: { unique: [singleton] } } : identity,
      start: {
        type: "run.started",
        run: 1,
        workflow,
        version,
        ...(timeout === undefined ? undefined : { timeoutAt: now + durationMs(timeout, "timeout") }),
        ...(retention === undefined ? undefined : { retention: retentionMs(retention, "retention") }),
        schedule,
        ...(tags.length === 0 ? undefined : { tags }),
        value: this.#inputOf(input, isSensitive ?? definition?.options.sensitive?.input),
      },
      within: undefined,
    })
  }

  #inputOf(stored: Encoded, isSensitive?: boolean): Payload {
    return storedPayload(stored, this.#worker.settings.codecs, isSensitive)
  }

  /** The last version registered here, else the version in the row of the schedule. */
  #resolve(workflow: AnyWorkflow | string, storedVersion: string | undefined): Resolved {
    const isHere = typeof workflow !== "string" || this.#registry.versions(workflow).length > 0
    return this.#starter.resolve(workflow, isHere ? undefined : storedVersion)
  }
}

/** The input of a schedule, as its row keeps it. */
export interface ScheduledInput {
  readonly workflow: string
  readonly version: string
  readonly input: Encoded
  readonly sensitive?: true
}

interface ScheduledStart {
  readonly id: string
  readonly workflow: string
  readonly input: Encoded
  readonly definition: Schedule
  readonly schedule: { readonly id: string; readonly scheduledAt: number }
}
