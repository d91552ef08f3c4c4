import type { Payload } from "../../core/values/value-codec.ts"
import { CancelledError, TerminatedError } from "../../core/errors.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { Entry, EntryOf, Recorded } from "../../core/journal/journal.ts"
import type { NewInstance } from "../../ports/journal-store.ts"
import type { StepAttempts } from "../steps/step-attempts.ts"
import { cancelledEntry, terminatedEntry, type EndingEntry } from "./ending-entry.ts"
import { logRunFailure } from "./failure-log.ts"
import { endingMessages } from "../children/ending-messages.ts"
import type { ReleaseQueue } from "./release-queue.ts"
import type { RunnerContext } from "./runner-context.ts"
import type { TurnWriter } from "./turn-writer.ts"

export interface EntryRecorder {
  record(entry: Entry): Recorded
}

/** Ends a run of one instance: completed, failed, cancelled, terminated, or continued as new. */
export class RunCompletion {
  /** The next run has begun. A worker loads it from the store. */
  hasContinued = false
  readonly #context: RunnerContext
  readonly #identity: NewInstance
  readonly #state: InstanceState
  readonly #writer: TurnWriter
  readonly #releaseQueue: ReleaseQueue
  readonly #attempts: StepAttempts
  readonly #journal: EntryRecorder

  constructor(
    context: RunnerContext,
    identity: NewInstance,
    state: InstanceState,
    writer: TurnWriter,
    releaseQueue: ReleaseQueue,
    attempts: StepAttempts,
    journal: EntryRecorder,
  ) {
    this.#context = context
    this.#identity = identity
    this.#state = state
    this.#writer = writer
    this.#releaseQueue = releaseQueue
    this.#attempts = attempts
    this.#journal = journal
  }

  end(entry: EndingEntry): void {
    this.#recordLast(entry)
    this.#writer.draft.discardInbox = true
    if (this.#state.hasTasks) this.#attempts.tasks.endAll()
    this.#attempts.abandon(`instance "${this.#identity.id}" has ended`)
    if (entry.type !== "run.failed") return
    const { run } = this.#state
    this.#writer.whenDurable({ afterCommit: () => logRunFailure(this.#context.host.log, this.#identity, run, entry) })
  }

  cancel(entry: EntryOf<"cancel.requested">): void {
    const { id } = this.#identity
    const { hasBegun } = this.#releaseQueue
    this.#journal.record(entry)
    if (!hasBegun) return this.end(cancelledEntry(id, this.#state))
    this.#attempts.cancel(new CancelledError(id, entry.reason))
  }

  /** Cancels a stalled instance at once. Its code cannot run: it disagrees with the journal, or it kills the process. */
  cancelStalled(entry: EntryOf<"cancel.requested">): void {
    if (!this.#state.cancel) this.#journal.record(entry)
    this.forceCancel()
  }

  /** Ends a cancelled run whose code has not ended within the cancel grace. */
  forceCancel(): void {
    const notRolledBack = this.#releaseQueue.execution?.notRolledBack ?? []
    this.end({ ...cancelledEntry(this.#identity.id, this.#state), ...(notRolledBack.length === 0 ? undefined : { notRolledBack }) })
  }

  /** With rollback, the completed steps are undone first. In both cases the code itself does nothing more. */
  terminate(reason: string | undefined, rollback: boolean): void {
    if (!rollback || !this.#releaseQueue.hasBegun || this.#state.stalled) return this.end(terminatedEntry(reason))
    if (this.#state.hasTasks) this.#attempts.tasks.endAll()
    this.#journal.record({ type: "terminate.requested", ...(reason === undefined ? undefined : { reason }) })
    this.#attempts.drop(new TerminatedError(this.#identity.id, reason))
  }

  /** Ends this run, and begins the next run with this input. A worker loads the next run from the store. */
  continueAsNew(input: Payload): void {
    const { id, workflow, version } = this.#identity
    const { run, timeoutAt, retention, parent, schedule, eventIds, tags, memo } = this.#state
    const unread = this.#state.buffered()
    // The values are encoded first: if a codec fails, the run has not ended yet.
    const [value, noted] = [this.#reencoded(input), memo && this.#reencoded(memo)]
    this.hasContinued = true
    if (this.#state.hasTasks) this.#attempts.tasks.endAll()
    this.#recordLast({ type: "run.continued" })
    this.#journal.record({
      type: "run.started",
      run: run + 1,
      workflow,
      version,
      value,
      ...(timeoutAt === undefined ? undefined : { timeoutAt }),
      ...(retention === undefined ? undefined : { retention }),
      ...(parent === undefined ? undefined : { parent }),
      ...(schedule === undefined ? undefined : { schedule }),
      ...(eventIds.length === 0 ? undefined : { eventIds }),
      ...(tags === undefined || tags.length === 0 ? undefined : { tags }),
      ...(noted === undefined ? undefined : { memo: noted }),
    })
    // The unread events are copied into the next run, so that a load has to read only the last run.
    for (const { at, entry } of unread) this.#journal.record({ ...entry, at })
    this.#attempts.abandon(`run ${run} of instance "${id}" is over`)
  }

  /** Records the last entry, with the messages that its turn sends. The messages are made first: if a codec fails, the run has not ended. */
  #recordLast(entry: Entry): void {
    const messages = endingMessages(this.#state, this.#identity.incarnation, entry, this.#writer.draft)
    this.#journal.record(entry)
    if (messages.length > 0) this.#writer.draft.sends = messages
  }

  #reencoded(payload: Payload): Payload {
    return this.#writer.payloadOf(this.#writer.draft.stored(payload), payload.isSensitive)
  }
}
