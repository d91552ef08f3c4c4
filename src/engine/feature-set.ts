import type { Entry } from "../core/journal/journal.ts"
import type { Payload } from "../core/values/value-codec.ts"
import type { PayloadCodecs } from "../core/values/payload-codecs.ts"
import type { checkPriority, Debounce } from "../core/workflow/flow-options.ts"
import type { Annotations, AnnotationSource } from "../core/execution/annotations.ts"
import type { InstanceState } from "../core/journal/instance-state.ts"
import type { Limits } from "../core/workflow/input-limits.ts"
import type { QueryUpdateHandlers, QueryUpdateHost } from "../core/execution/query-update-handlers.ts"
import type { AnyWorkflow } from "../core/workflow/workflow.ts"
import type { FlowControl, FlowTraits } from "../ports/flow-control.ts"
import type { Host } from "../ports/host.ts"
import type { InstanceRow, NewInstance } from "../ports/journal-store.ts"
import type { Store } from "../ports/store.ts"
import type { debouncedStart, refuseDebounce } from "./flow-control/debouncer.ts"
import type { EndingHooks } from "./runner/ending-hooks.ts"
import type { EngineOptions } from "./settings.ts"
import type { CallerSupport } from "./instances/caller-transaction-scope.ts"
import type { QueryUpdateResponder } from "./runner/query-update-responder.ts"
import type { InstanceControls } from "./instances/instance-controls.ts"
import type { keptChildResults } from "./children/kept-child-results.ts"
import type { NestedDriver, NestedSteps } from "./steps/nested-steps.ts"
import type { ChildOperations } from "./children/child-operations.ts"
import type { endingMessages } from "./children/ending-messages.ts"
import type { WorkflowRegistry } from "./workflow-registry.ts"
import type { RunnerContext } from "./runner/runner-context.ts"
import type { holderOf, singletonExists } from "./flow-control/singletons.ts"
import type { WriteScope } from "./instances/write-scope.ts"
import type { StartRequest, InstanceStarter } from "./instances/instance-starter.ts"
import type { StepAttempt } from "./steps/step-attempt.ts"
import type { Timers } from "./worker/timers.ts"
import type { TurnWriter } from "./runner/turn-writer.ts"
import type { StepSlots } from "./steps/step-slots.ts"
import type { Worker } from "./worker/worker.ts"

/**
 * What the core of an engine may be able to do, or not. It is given here and not imported by the core, so that a bundle holds no code of what
 * nobody asked for. An engine with the API of a client has all of it; in a Durable Object it is chosen by `parts`.
 */
export interface EngineFeatures {
  /** Limits, priorities, keys of singletons, debounced starts. */
  readonly flow?: FlowRules
  /** Values that are encoded before they are stored. */
  readonly codecs?: CodecSupport
  /** `ctx.transaction`. */
  readonly transactions?: TransactionMaker
  /** What workflows and the engine want called when an instance ends or stalls. */
  readonly hooks?: HookMaker
  /** `ctx.startChild` and `ctx.runChild`. */
  readonly children?: ChildSupport
  /** What is started and sent in transactions of the caller's. */
  readonly callers?: CallerSupport
  /** `ctx.tags` and `ctx.setMemo`. */
  readonly annotations?: (source: AnnotationSource, limits: Limits) => Annotations
  /** What others ask the code of instances: queries and updates. */
  readonly questions?: QuestionSupport
  /** What functions of steps ask for inside their steps. */
  readonly nestedSteps?: (state: InstanceState, driver: NestedDriver) => NestedSteps
}

export interface QuestionSupport {
  readonly questions: (source: QueryUpdateHost) => QueryUpdateHandlers
  readonly answers: (...made: ConstructorParameters<typeof QueryUpdateResponder>) => QueryUpdateResponder
}

export interface ChildSupport {
  childOperations(store: Store, starter: InstanceStarter, controls: InstanceControls): ChildOperations
  readonly endingMessages: typeof endingMessages
  readonly keptChildResults: typeof keptChildResults
}

/** Makes what calls the hooks of one instance; undefined where it has none. */
export type HookMaker = (runtime: RunnerContext, workflow: AnyWorkflow, identity: NewInstance, state: InstanceState) => EndingHooks | undefined

export interface FlowRules {
  /** What is to be known of an instance with this input. Undefined: nothing. */
  traits(workflow: AnyWorkflow, input: unknown, priority: number | undefined): FlowTraits | undefined
  /** Those of a fork. */
  forkTraits(original: NewInstance, workflow: AnyWorkflow | undefined, input: Payload): FlowTraits | undefined
  desk(flow: FlowControl, registry: WorkflowRegistry, host: Host, timers: Timers): LimitRules
  debouncer(worker: Worker): Replacer
  readonly debouncedStart: typeof debouncedStart
  readonly refuseDebounce: typeof refuseDebounce
  readonly checkPriority: typeof checkPriority
  readonly holderOf: typeof holderOf
  readonly singletonExists: typeof singletonExists
  /** For workers that run only so many attempts at the same time, or in all. */
  stepSlots(places: number, total: number | undefined): StepSlots
}

/** What a worker tells the store about the limits of its workflows. */
export interface LimitRules {
  declare(): Promise<void>
  lacksLimits(row: InstanceRow, workflow: AnyWorkflow): boolean
  assign(workflow: AnyWorkflow, row: InstanceRow, first: Entry | undefined): Promise<boolean>
}

/** Gives an instance that waits for quiet another input. */
export interface Replacer {
  replace(writeScope: WriteScope, startRequest: StartRequest, debounce: Debounce<unknown>): Promise<string | undefined>
}

export interface CodecSupport {
  /** Undefined: the options name none. */
  of(options: EngineOptions): PayloadCodecs | undefined
  /** The store, whose journals come with the codecs that decode their values. */
  store(store: Store, codecs: PayloadCodecs): Store
}

/** Makes what runs the transactions of one instance. */
export type TransactionMaker = (runtime: RunnerContext, writer: TurnWriter, submit: (input: { take(): void }) => void) => TransactionRunner

export interface TransactionRunner {
  run(attempt: StepAttempt, fn: (access: unknown) => unknown): Promise<unknown>
}
