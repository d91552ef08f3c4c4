import type { EntryOf } from "../../core/journal/journal.ts"
import type { Host } from "../../ports/host.ts"
import type { NewMessage } from "../../ports/journal-store.ts"
import type { ClientTransactions, Transactions } from "../../ports/transactions.ts"
import type { Committer } from "../worker/group-committer.ts"
import type { InstanceRunner } from "./instance-runner.ts"
import type { ChildOperations } from "../children/child-operations.ts"
import type { MacrotaskQueue } from "./macrotask-queue.ts"
import type { EngineSettings } from "../settings.ts"
import type { StepSlots } from "../steps/step-slots.ts"
import type { Timers } from "../worker/timers.ts"

/** What all resident instances of an engine share, and how they tell the engine what became of them. */
export interface RunnerContext {
  readonly host: Host
  /** The engine itself, as an identity for scopes. */
  readonly engine: object
  /** Names this engine as an owner of instances. */
  readonly worker: string
  readonly settings: EngineSettings
  readonly macrotaskQueue: MacrotaskQueue
  readonly committer: Committer
  readonly transactions: Transactions | undefined
  readonly clientTransactions: ClientTransactions | undefined
  readonly timers: Timers
  /** How many instances have code that does something on its own, and time for it. */
  graces: number
  /** The engine is closing: attempts may finish, and nothing new begins. */
  readonly draining: boolean
  /** Where only so many attempts run at the same time. */
  readonly stepSlots: StepSlots | undefined
  /** What instances do to their children. */
  readonly childOperations: ChildOperations
  /** There is no room in memory for instances that could go on. */
  readonly isOutOfRoom: boolean
  /** One is at rest, and could make room. */
  onAtRest(): void
  nextTurnId(): string
  /** Messages to other instances are durable. */
  onSent(messages: readonly NewMessage[]): void
  /** The answer to an update is durable. */
  onUpdateAnswered(answer: EntryOf<"update.completed" | "update.failed">): void
  /** A terminal status is durable. */
  onEnded(runner: InstanceRunner): void
  /** That it is stalled is durable. */
  onStalled(runner: InstanceRunner): void
  /** Its last turn gave it up: it ended, sleeps for long, or is paused or stalled. */
  onReleased(runner: InstanceRunner, dueAt: number | undefined): void
  /** Nothing is left to do for it, and the store still has it as ours. */
  onIdle(runner: InstanceRunner): void
  /** Its turn was lost to another writer, or could not be written: what is in memory is worth nothing. */
  onLost(runner: InstanceRunner, error?: unknown): void
}
