import { retentionMs } from "../../core/workflow/retention.ts"
import { encodeValue, Payload } from "../../core/values/value-codec.ts"
import { declaredEvents, takesEvent, unknownEvent } from "../../core/workflow/declared-events.ts"
import { durationMs } from "../../core/time/duration.ts"
import { PerdureError } from "../../core/errors.ts"
import { checkPriority, type Debounce } from "../../core/workflow/flow-options.ts"
import type { EntryOf, ParentLink } from "../../core/journal/journal.ts"
import { checkId, checkQueue, checkRequestId, checkTags, checkWorkflowName } from "../../core/workflow/input-limits.ts"
import { validate, validateSafely, type StandardSchemaV1 } from "../../core/workflow/standard-schema.ts"
import { storedQueue } from "../../core/workflow/task-queue.ts"
import { type AnyWorkflow, defaultVersion } from "../../core/workflow/workflow.ts"
import type { Delivery } from "../../ports/directory.ts"
import type { FlowTraits } from "../../ports/flow-control.ts"
import type { NewInstance, NewMessage, RunReference, Turn } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import type { StartOptions } from "../../client-api/client-api.ts"
import type { CommitResult } from "../worker/group-committer.ts"
import { debouncedStart, Debouncer, refuseDebounce } from "../flow-control/debouncer.ts"
import { flowTraits } from "../flow-control/flow-keys.ts"
import { deadlineOf } from "../flow-control/flow-traits.ts"
import { holderOf, singletonExists } from "../flow-control/singletons.ts"
import { instant } from "../../core/time/instant.ts"
import type { WorkflowRegistry } from "../workflow-registry.ts"
import { idExists, instanceEnded } from "./instance-errors.ts"
import { isRetriedStart, isEqualStart } from "./duplicate-start.ts"
import { startWithin } from "./caller-transaction-scope.ts"
import { ownWriteScope, type WriteScope } from "./write-scope.ts"
import { TurnDraft } from "../runner/turn-draft.ts"
import { randomToken } from "../random-token.ts"
import type { Worker } from "../worker/worker.ts"

const triesMax = 100

/** Starts instances. An instance that can run in this worker begins in memory; else its row is written, and a worker claims it. */
export class InstanceStarter {
  readonly #store: Store
  readonly #registry: WorkflowRegistry
  readonly #worker: Worker
  readonly #debouncer: Debouncer
  readonly writeScope: WriteScope

  constructor(store: Store, registry: WorkflowRegistry, worker: Worker) {
    this.#store = store
    this.#registry = registry
    this.#worker = worker
    this.#debouncer = new Debouncer(worker)
    this.writeScope = ownWriteScope(store, worker, (startRequest) => this.create(startRequest))
  }

  /** Returns the id of the instance: a new one, or the existing one that `ifExists` allows. */
  async start(workflow: AnyWorkflow | string, options: StartOptions<unknown>): Promise<string> {
    const { transaction } = options
    if (transaction !== undefined) {
      const prepared = await this.prepare(workflow, options)
      return this.within(transaction, (writeScope) => this.startAt(writeScope, prepared, options))
    }
    const admission = this.#worker.startThrottle?.enter()
    if (admission) await admission
    return this.startAt(this.writeScope, await this.prepare(workflow, options), options)
  }

  /** Runs `work` in a transaction of the caller. */
  within<T>(transaction: unknown, work: (writeScope: WriteScope) => Promise<T>): Promise<T> {
    return startWithin(this.#store, transaction, (startRequest) => this.creationTurn(startRequest), work)
  }

  async startAt(writeScope: WriteScope, startRequest: StartRequest, options: StartOptions<unknown>): Promise<string> {
    for (let tries = 0; tries < triesMax; tries++) {
      const replaced = startRequest.debounce && (await this.#debouncer.replace(writeScope, startRequest, startRequest.debounce))
      if (replaced !== undefined) return replaced
      const result = await writeScope.create(startRequest)
      if (result === "committed") return startRequest.instance.id
      if (result !== "lost") throw result.error
      const { id, flow } = startRequest.instance
      if (flow?.unique === undefined || (await writeScope.store.directory.get(id))) {
        if (await isRetriedStart(writeScope, id, options.requestId)) return id
        if (options.ifExists === "return" && (await isEqualStart(writeScope, startRequest))) return id
        throw idExists(id)
      }
      const holder = await holderOf(writeScope, flow)
      if (holder !== undefined && options.ifExists === "return") return holder
      if (holder !== undefined) throw singletonExists(holder)
      // The holder of the key has just changed. Try again.
      await new Promise<void>((resolve) => this.#worker.host.quiesce(resolve))
    }
    throw new PerdureError(
      "STORE_FAILED",
      `workflow "${startRequest.instance.workflow}" could not be started: other starts were faster ${triesMax} times; try again`,
    )
  }

  /** Ends the throttling of starts: all waiting starts continue, or are refused with this error. */
  close(refusal?: unknown): void {
    this.#worker.startThrottle?.close(refusal)
  }

  /** Delivers the message in one transaction, which also creates the instance if there is none. */
  async sendOrStart(workflow: AnyWorkflow | string, options: StartOptions<unknown>, message: NewMessage): Promise<Delivery | "created"> {
    const startRequest = await this.prepare(workflow, options)
    refuseDebounce(startRequest, "be used with sendOrStart")
    const sendAt = async (writeScope: WriteScope) => {
      const answer = await writeScope.store.directory.deliverOrCreate(message, this.creationTurn(startRequest))
      const delivery = answer === "unknown-event" ? await this.#deliverAgain(writeScope, startRequest, message) : answer
      const holder = delivery === "absent" ? await holderOf(writeScope, startRequest.instance.flow) : undefined
      if (holder !== undefined) throw singletonExists(holder)
      if (delivery === "ended") throw instanceEnded(startRequest.instance)
      return delivery
    }
    return options.transaction === undefined ? sendAt(this.writeScope) : this.within(options.transaction, sendAt)
  }

  /** The store refused the event. If the code of this process declares its type for the version of the instance, the event is delivered all the same. */
  async #deliverAgain({ store: { directory } }: WriteScope, { instance }: StartRequest, { isChecked: _, ...message }: NewMessage): Promise<Delivery> {
    const { topic: type = "" } = message
    const existing = await directory.get(instance.id)
    const isKnownVersion = existing?.workflow === instance.workflow && existing.version === instance.version
    if (!isKnownVersion || !takesEvent(instance.events, type)) throw unknownEvent(existing ?? instance, type)
    const [delivery = "absent"] = await directory.deliver([message])
    return delivery
  }

  /** Validates a start. Returns a promise only if the workflow has a schema, or is not registered here. */
  prepare(workflow: AnyWorkflow | string, options: StartOptions<unknown>, origin?: Origin): StartRequest | Promise<StartRequest> {
    if (typeof workflow === "string" && !this.#registry.has(workflow, options.version)) return this.#unregistered(workflow, options, origin)
    const { definition } = this.resolve(workflow, options.version)
    const schema = definition?.options.input
    return schema ? this.#validated(definition, options, schema, origin) : this.#startRequest(workflow, options, options.input, origin)
  }

  /** Validates the start of a workflow that this engine has no code of. */
  async #unregistered(workflow: string, options: StartOptions<unknown>, origin?: Origin): Promise<StartRequest> {
    checkWorkflowName(workflow, this.#worker.settings.limits.workflowNameLengthMax)
    const { knownWorkflows } = this.#worker
    const version = options.version ?? (await knownWorkflows?.versionOf(workflow))
    // A child with its own queue or version may wait: the worker for it may start later than the worker of the parent.
    const mayWait = options.allowUnknown === true || (origin !== undefined && (options.version ?? options.taskQueue) !== undefined)
    if (!mayWait && !knownWorkflows) throw this.#registry.unknown(workflow, version)
    if (!mayWait) await knownWorkflows?.require(workflow, version)
    return this.#startRequest(workflow, { ...options, version: version ?? defaultVersion }, options.input, origin)
  }

  async #validated(workflow: AnyWorkflow, options: StartOptions<unknown>, schema: StandardSchemaV1, origin?: Origin): Promise<StartRequest> {
    const check = origin ? validateSafely : validate
    const what = `the input of workflow "${workflow.name}"`
    const input = await check(schema, options.input, { code: "INVALID_INPUT", what, isSensitive: workflow.options.sensitive?.input })
    return this.#startRequest(workflow, options, input, origin)
  }

  #startRequest(workflow: AnyWorkflow | string, options: StartOptions<unknown>, input: unknown, origin?: Origin): StartRequest {
    const { host, settings } = this.#worker
    const id = options.id ?? randomToken(host)
    checkId(id, settings.limits.idLengthMax)
    const { name, version, definition } = this.resolve(workflow, options.version)
    const value = Payload.of(encodeValue(input, { what: "input", bytesMax: settings.limits.payloadBytesMax }), definition?.options.sensitive?.input)
    const now = host.now()
    const debounce = definition?.options.debounce
    const startAt = debounce ? debouncedStart(name, debounce, options, now) : startTime(options, now, host.aheadMs())
    const timeout = options.timeout ?? definition?.options.timeout
    const timeoutAt = timeout === undefined ? undefined : (startAt ?? now) + durationMs(timeout, "timeout")
    const retention = options.retention ?? definition?.options.retention
    const tags = checkTags(options.tags)
    const flow = this.#flowOf(definition, input, options.priority)
    if (options.taskQueue !== undefined) checkQueue(options.taskQueue)
    const queue = storedQueue(options.taskQueue ?? definition?.options.taskQueue ?? origin?.queue)
    const events = declaredEvents(definition?.options)
    const identity = {
      id,
      incarnation: origin?.incarnation ?? checkRequestId(options.requestId) ?? randomToken(host),
      workflow: name,
      version,
      createdAt: now,
      tags,
      ...queue,
      ...(events && { events }),
    }
    return {
      definition,
      within: origin?.within,
      debounce,
      instance: flow ? { ...identity, flow } : identity,
      start: {
        type: "run.started",
        run: 1,
        workflow: name,
        version,
        value,
        ...(startAt === undefined ? undefined : { startAt }),
        ...(timeoutAt === undefined ? undefined : { timeoutAt }),
        ...(retention === undefined ? undefined : { retention: retentionMs(retention, "retention") }),
        ...(origin === undefined ? undefined : { parent: origin.parent }),
        ...(tags.length === 0 ? undefined : { tags }),
      },
    }
  }

  #flowOf(definition: AnyWorkflow | undefined, input: unknown, priority: number | undefined): FlowTraits | undefined {
    if (priority !== undefined) checkPriority("priority", priority)
    if (definition) return flowTraits(definition, input, priority)
    return priority ? { priority } : undefined
  }

  /** Finds the definition. It is undefined if only other workers have the version. */
  resolve(workflow: AnyWorkflow | string, version: string | undefined): Resolved {
    if (typeof workflow !== "string") return { name: workflow.name, version: workflow.version, definition: workflow }
    checkWorkflowName(workflow, this.#worker.settings.limits.workflowNameLengthMax)
    if (version !== undefined && !this.#registry.find(workflow, version)) return { name: workflow, version, definition: undefined }
    const definition = this.#registry.resolve(workflow, version)
    return { name: workflow, version: definition.version, definition }
  }

  /** Begins the instance in memory if this worker can run it, else writes its row. */
  create(startRequest: StartRequest): Promise<CommitResult> {
    const { definition, instance, start, within } = startRequest
    return new Promise((resolve) => {
      // An instance with limits takes its slots when a worker claims it.
      const mayBegin = start.startAt === undefined && instance.flow?.limits === undefined
      if (mayBegin && definition && this.#worker.startInMemory(definition, instance, { start, within }, resolve)) return
      const onResult = (result: CommitResult) => {
        if (result === "committed") this.#worker.announce(instance.id, start.startAt)
        resolve(result)
      }
      this.#worker.committer.submit(this.creationTurn(startRequest), { onResult })
    })
  }

  /** The turn that creates an instance without an owner. */
  creationTurn({ instance, start, within }: StartRequest): Turn {
    const draft = new TurnDraft(1, instance.createdAt, this.#worker.settings.codecs)
    draft.create = instance
    draft.within = within
    draft.add(start)
    const deadline = deadlineOf(instance.flow, start.timeoutAt)
    // Another worker's time may be less far ahead of the wall clock than the time of this process. The start has to be due for that worker, too.
    const dueAt = start.startAt ?? instance.createdAt - this.#worker.host.aheadMs()
    const state = { status: "queued", run: 1, runPosition: 1, dueAt, ...deadline } as const
    return draft.seal(this.#worker.nextTurnId(), instance, 1, state, undefined)
  }
}

/** The parent of a child that is started. */
interface Origin {
  readonly parent: ParentLink
  /** The run that starts the child. It differs from `parent.run` if it keeps the step of an earlier run. */
  readonly within: RunReference
  readonly incarnation: string
  /** The task queue of the parent. */
  readonly queue: string | undefined
}

/** A validated start: the identity of the instance and its first entry. */
export interface StartRequest {
  readonly definition: AnyWorkflow | undefined
  readonly debounce: Debounce<unknown> | undefined
  readonly instance: NewInstance
  readonly start: EntryOf<"run.started">
  readonly within: RunReference | undefined
}

export interface Resolved {
  readonly name: string
  readonly version: string
  readonly definition: AnyWorkflow | undefined
}

/**
 * When a start is due, in the time of the engine; undefined if at once. A `startAt` of the caller is a time of the wall clock. The engine's time is
 * `aheadMs` ahead of the wall clock.
 */
function startTime(options: StartOptions<unknown>, now: number, aheadMs: number): number | undefined {
  if (options.delay !== undefined && options.startAt !== undefined) throw new PerdureError("BAD_OPTION", "give either delay or startAt, not both")
  const at =
    options.delay !== undefined
      ? now + durationMs(options.delay, "delay")
      : options.startAt === undefined
        ? undefined
        : instant(options.startAt, "startAt") + aheadMs
  return at === undefined || at <= now ? undefined : at
}
