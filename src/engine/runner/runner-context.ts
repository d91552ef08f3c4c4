import type { EntryOf } from "../../core/journal/journal.ts"
import type { Host } from "../../ports/host.ts"
import type { NewMessage } from "../../ports/journal-store.ts"
import type { NewTask } from "../../ports/task-store.ts"
import type { LocalActivities } from "../tasks/local-activities.ts"
import type { ClientTransactions, Transactions } from "../../ports/transactions.ts"
import type { Committer } from "../worker/group-committer.ts"
import type { InstanceRunner } from "./instance-runner.ts"
import type { ChildOperations } from "../children/child-operations.ts"
import type { MacrotaskQueue } from "./macrotask-queue.ts"
import type { EngineSettings } from "../settings.ts"
import type { StepSlots } from "../steps/step-slots.ts"
import type { Timers } from "../worker/timers.ts"

/** What a runner may use of its worker, and how the runner reports what became of its instance. `Worker` implements it. */
export interface RunnerContext {
  readonly host: Host
  /** The identity of the engine, for async scopes. */
  readonly engine: object
  /** The name of the worker, as the owner of instances. */
  readonly workerName: string
  readonly settings: EngineSettings
  readonly macrotaskQueue: MacrotaskQueue
  readonly committer: Committer
  readonly transactions: Transactions | undefined
  readonly clientTransactions: ClientTransactions | undefined
  readonly timers: Timers
  /** How many instances give their code a grace to make the next ask. */
  openGraces: number
  /** The engine is closing: attempts may finish, and nothing else begins. */
  readonly draining: boolean
  /** Undefined: any number of attempts may run at the same time. */
  readonly stepSlots: StepSlots | undefined
  readonly childOperations: ChildOperations
  readonly activities: LocalActivities
  /** Instances in the store wait for room in memory. */
  readonly isOutOfRoom: boolean
  /** An instance has come to rest, and could make room for another. */
  onAtRest(): void
  nextTurnId(): string
  /** Tasks are durable: a worker of their queues may claim them. */
  onTasksWritten(tasks: readonly NewTask[]): void
  /** Messages to other instances are durable. */
  onSent(messages: readonly NewMessage[]): void
  /** The answer to an update is durable. */
  onUpdateAnswered(answer: EntryOf<"update.completed" | "update.failed">): void
  /** A terminal status is durable. */
  onEnded(runner: InstanceRunner): void
  /** The entry that stalls the instance is durable. */
  onStalled(runner: InstanceRunner): void
  /** The last turn released the instance: it ended, stalled, paused, or sleeps for long. */
  onReleased(runner: InstanceRunner, dueAt: number | undefined): void
  /** The instance has nothing to do and should leave memory, and the store still has this worker as its owner. */
  onIdle(runner: InstanceRunner): void
  /** The turn was lost to another writer, or could not be written: the instance in memory must be dropped, and loaded again from the store. */
  onLost(runner: InstanceRunner, error?: unknown): void
}
