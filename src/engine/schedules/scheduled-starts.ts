import { type Encoded, encodeValue, type Payload } from "../../core/values/value-codec.ts"
import { durationMs } from "../../core/time/duration.ts"
import { PerdureError } from "../../core/errors.ts"
import { storedPayload } from "../../core/values/encoded-payload.ts"
import type { Schedule } from "../../core/time/schedule.ts"
import { declaredEvents } from "../../core/workflow/declared-events.ts"
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

/** What a schedule needs in order to start instances: the input that it keeps, and the turns that create them. */
export class ScheduledStarts {
  readonly #starter: InstanceStarter
  readonly #registry: WorkflowRegistry
  readonly #worker: Worker

  constructor(starter: InstanceStarter, registry: WorkflowRegistry, worker: Worker) {
    this.#starter = starter
    this.#registry = registry
    this.#worker = worker
  }

  /** The input of the instances that a schedule starts, as it keeps it: what the schema makes of it. */
  async input(workflow: AnyWorkflow | string, input: unknown, known?: string): Promise<ScheduledInput> {
    const { name, version, definition } = this.#resolve(workflow, known)
    const schema = definition?.options.input
    const value = schema ? await validate(schema, input, { code: "INVALID_INPUT", what: `the input of workflow "${name}"` }) : input
    if (definition?.options.debounce)
      throw new PerdureError("BAD_OPTION", `workflow "${name}" is debounced, so a schedule cannot start it; remove debounce, or start it without a schedule`)
    const encoded = encodeValue(value, { what: "input", bytesMax: this.#worker.settings.limits.payloadBytesMax })
    // A key that cannot be made of it is to be known now.
    this.singleton(name, version, encoded)
    return {
      workflow: name,
      version,
      input: this.#worker.settings.codecs?.encode(encoded) ?? encoded,
      ...(definition?.options.sensitive?.input ? { sensitive: true } : undefined),
    }
  }

  isSingleton(workflow: string, known: string | undefined): boolean {
    const { singleton = false } = this.#resolve(workflow, known).definition?.options ?? {}
    return singleton !== false
  }

  /** The key that an instance of a schedule has to itself. */
  singleton(workflow: string, known: string | undefined, input: Encoded): UniqueUse | undefined {
    const { definition } = this.#resolve(workflow, known)
    return definition && this.isSingleton(workflow, known) ? singletonOf(flowTraits(definition, this.#inputOf(input).decode(), undefined)) : undefined
  }

  /** The turn that creates an instance of a schedule. */
  turn({ id, workflow, input, definition: { version: known, tags = [], timeoutMs, taskQueue, sensitive: isSensitive }, schedule }: ScheduledStart): Turn {
    const { version, definition } = this.#resolve(workflow, known)
    const { host } = this.#worker
    const timeout = timeoutMs ?? definition?.options.timeout
    const now = host.now()
    const singleton = this.singleton(workflow, known, input)
    const queue = storedQueue(taskQueue ?? definition?.options.taskQueue)
    const events = declaredEvents(definition?.options)
    const identity = { id, incarnation: randomToken(host), workflow, version, createdAt: now, tags, ...queue, ...(events && { events }) }
    return this.#starter.creationTurn({
      definition,
      // It gets its limits when it is claimed.
      debounce: undefined,
      instance: singleton ? { ...identity, flow: { unique: [singleton] } } : identity,
      start: {
        type: "run.started",
        run: 1,
        workflow,
        version,
        ...(timeout === undefined ? undefined : { timeoutAt: now + durationMs(timeout, "timeout") }),
        schedule,
        ...(tags.length === 0 ? undefined : { tags }),
        value: this.#inputOf(input, isSensitive ?? definition?.options.sensitive?.input),
      },
      within: undefined,
    })
  }

  /** The input that a schedule keeps. */
  #inputOf(stored: Encoded, isSensitive?: boolean): Payload {
    return storedPayload(stored, this.#worker.settings.codecs, isSensitive)
  }

  /** The last version registered here, else the one that was known when the schedule was written. */
  #resolve(workflow: AnyWorkflow | string, known: string | undefined): Resolved {
    const isHere = typeof workflow !== "string" || this.#registry.versions(workflow).length > 0
    return this.#starter.resolve(workflow, isHere ? undefined : known)
  }
}

/** As a schedule keeps it. */
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
