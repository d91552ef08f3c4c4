import type { WorkflowSource } from "./core/workflow/workflow-source.ts"
import { Engine } from "./engine/engine.ts"
import type { PublicEngine } from "./engine/public-engine.ts"
import type { EngineOptions } from "./engine/settings.ts"
import type { Logger } from "./ports/host.ts"
import type { StoreProvider } from "./ports/store.ts"

/** Options of `Perdure.open`; everything has a default. */
export interface PerdureOptions extends EngineOptions {
  /** The store, as `sqlite`, `postgres` or `memory` returns it. Default: SQLite in `./perdure.db`. */
  readonly store?: StoreProvider
  /** The workflows that this engine can execute, as definitions or classes. Default: none, which is enough for a client. */
  readonly workflows?: readonly WorkflowSource[]
  /** The logger of the engine. Default: warnings and errors go to the console. */
  readonly log?: Logger
  /**
   * `"worker"`: the engine executes workflows; on SQLite one process at a time does, and the others stand by. `"client"`: it never does, but runs its
   * activities. Default: `"worker"`, except for an engine on SQLite with activities and no workflows, which must not keep others from executing theirs.
   */
  readonly role?: "worker" | "client"
}

/** Opens engines. */
export const Perdure = {
  /**
   * Opens an engine, which continues the unfinished instances in the store. Throws `BAD_OPTION` or `BAD_NAME` for wrong options, and an error such as
   * `DATABASE_UNREADABLE`, `DATABASE_TOO_NEW` or `STORE_UNREACHABLE` if the store cannot be opened.
   *
   * @example
   * const engine = await Perdure.open({ store: sqlite("app.db"), workflows: [order] })
   * const handle = await engine.start(order, { input: { item: "lamp" } })
   * console.log(await handle.result())
   * await engine.close()
   */
  async open(options: PerdureOptions = {}): Promise<PublicEngine> {
    const { store, workflows = [], log, role, ...rest } = options
    // Loaded here, so that importing the package needs nothing of the platform.
    const { NodeHost } = await import("./hosts/node/node-host.ts")
    const { consoleLogger } = await import("./hosts/node/console-logger.ts")
    const provider = store ?? (await import("./stores/sqlite/sqlite-provider.ts")).sqlite("perdure.db")
    const onlyRunsActivities = workflows.length === 0 && (rest.activities ?? []).length > 0
    const ownRole = role ?? (onlyRunsActivities && provider.hasOneWorker === true ? "client" : "worker")
    return Engine.open({ host: new NodeHost(log ?? consoleLogger), store: provider, workflows, options: rest, role: ownRole })
  },
}

export { isHidden, type Hidden } from "./core/values/redaction.ts"
export { defineActivity } from "./core/workflow/activity.ts"
export { workflow } from "./core/workflow/workflow.ts"
export { BaseWorkflow, type CreateOptions, type WorkflowClass } from "./dialects/class/base-workflow.ts"
export { eventSchema } from "./dialects/class/event-schema.ts"
export type { ClassStepOptions, Step, StepDefaults, StepFunction, StepRetries } from "./dialects/class/step.ts"
export {
  CancelledError,
  ChildFailedError,
  EventTimeoutError,
  NonRetryableError,
  PerdureError,
  ResultTimeoutError,
  StepFailedError,
  TerminatedError,
} from "./core/errors.ts"
export type {
  Child,
  ChildOptions,
  ConditionOptions,
  Context,
  InstanceInfo,
  InstanceTags,
  ReceivedEvent,
  ReceiveOptions,
  Rollback,
  RollbackContext,
  RollbackFunction,
  SleepOptions,
  StepContext,
  StepOptions,
  TransactionContext,
  UpdateOptions,
  WaitOptions,
  WorkflowLog,
} from "./core/workflow/context.ts"
export type { Activity, ActivityContext, ActivityDefaults, ActivityOptions, AnyActivity } from "./core/workflow/activity.ts"
export type { BufferedEvents } from "./core/journal/event-type-queue.ts"
export type { Change, ChangeData, ChangeError, ChangeType } from "./core/journal/change.ts"
export type { Duration } from "./core/time/duration.ts"
export type { ErrorCode } from "./core/errors.ts"
export type { ConcurrencyLimit, Debounce, FlowFunction, FlowOptions, RateLimit, Singleton } from "./core/workflow/flow-options.ts"
export type { EntryType } from "./core/journal/journal.ts"
export type { Limits } from "./core/workflow/input-limits.ts"
export type { PayloadCodec } from "./core/values/payload-codecs.ts"
export type { Retention, RetentionMs } from "./core/workflow/retention.ts"
export type { RetryOptions } from "./core/workflow/retry-policy.ts"
export type { Overlap } from "./core/time/schedule.ts"
export type { Sql, SqlResult, SqlRow, SqlValue, TransactionClient } from "./core/workflow/transaction-sql.ts"
export type { StandardSchemaV1 } from "./core/workflow/standard-schema.ts"
export type { Phase, Status } from "./core/journal/status.ts"
export type { StepInfo } from "./core/journal/step-info.ts"
export type { WorkflowSource } from "./core/workflow/workflow-source.ts"
export type {
  AnyWorkflow,
  EventMap,
  Hook,
  HookEvent,
  Hooks,
  InputOf,
  ResultOf,
  RollbackPolicy,
  SensitiveData,
  Workflow,
  WorkflowSettings,
} from "./core/workflow/workflow.ts"
export type {
  BatchItem,
  BatchOptions,
  BatchResult,
  ChangeIterator,
  Changes,
  Client,
  ControlResult,
  DeleteResult,
  ForkOptions,
  Handle,
  HandleOf,
  HistoryEntry,
  HistoryOptions,
  HistoryPage,
  InstanceDescription,
  InstanceSummary,
  ListFilter,
  ListPage,
  RestartOptions,
  ResultOptions,
  SendOptions,
  SendOrStartOptions,
  StartOptions,
  TerminateOptions,
  Why,
  WorkflowInfo,
} from "./client-api/client-api.ts"
export type { PublicEngine as Engine } from "./engine/public-engine.ts"
export type { EnqueuedHook, EnqueuedInstance } from "./engine/enqueued-hook.ts"
export type { TickOptions, TickResult } from "./engine/ticks.ts"
export type {
  BackfilledFiring,
  BackfillOptions,
  ScheduleClient,
  ScheduleControlResult,
  ScheduledInstance,
  ScheduleDescription,
  ScheduleFilter,
  ScheduleHandle,
  ScheduleOptions,
  SchedulePage,
  ScheduleSummary,
  ScheduleTimes,
  ScheduleUpdate,
  UnfiredTimes,
} from "./client-api/schedule-client.ts"
export type { ConcurrencyReport, LimitControl, LimitSettings, RateReport, WorkflowLimitReport } from "./client-api/limit-control.ts"
export type {
  ClaimedActivity,
  ClaimOptions,
  FailOptions,
  HeartbeatOptions,
  QueueInfo,
  QueueWorker,
  TaskControl,
  TaskReference,
} from "./client-api/task-control.ts"
export type { EngineOptions, InterceptedStep, StepInterceptor } from "./engine/settings.ts"
export type { Logger } from "./ports/host.ts"
export type { StoreProvider } from "./ports/store.ts"
