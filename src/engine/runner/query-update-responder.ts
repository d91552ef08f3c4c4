import type { Payload } from "../../core/values/value-codec.ts"
import { PerdureError } from "../../core/errors.ts"
import type { EntryOf } from "../../core/journal/journal.ts"
import type { ReleaseQueue } from "./release-queue.ts"
import type { EntryRecorder } from "./run-completion.ts"
import type { RunnerContext } from "./runner-context.ts"
import type { TurnWriter } from "./turn-writer.ts"

/** Answers queries and updates with the handlers of one resident instance. */
export class QueryUpdateResponder {
  readonly #id: string
  readonly #context: RunnerContext
  readonly #writer: TurnWriter
  readonly #releaseQueue: ReleaseQueue
  readonly #journal: EntryRecorder

  constructor(id: string, context: RunnerContext, writer: TurnWriter, releaseQueue: ReleaseQueue, journal: EntryRecorder) {
    this.#id = id
    this.#context = context
    this.#writer = writer
    this.#releaseQueue = releaseQueue
    this.#journal = journal
  }

  /** Why the code refuses an update; undefined: the code accepts it. */
  refuseUpdate(name: string, args: Payload): { readonly error: unknown } | undefined {
    const { execution } = this.#releaseQueue
    if (!execution) return { error: new PerdureError("NOT_STARTED", `instance "${this.#id}" has not started, and takes no updates yet; send it again later`) }
    try {
      if (execution.isHalted) throw new PerdureError("INSTANCE_ENDED", `the code of instance "${this.#id}" has ended, and takes no updates`)
      execution.queryUpdateHandlers.validateUpdate(name, args.text)
      return undefined
    } catch (error) {
      return { error }
    }
  }

  /** Records the answer. The sender of the update gets it when it is durable. */
  answer(entry: EntryOf<"update.completed" | "update.failed">): void {
    this.#journal.record(entry)
    this.#writer.whenDurable({ afterCommit: () => this.#context.onUpdateAnswered(entry) })
  }

  /** Answers a query if all that the code knows is committed; undefined: it is not. */
  query(name: string, args: string): string | undefined {
    const { execution, isQuiet } = this.#releaseQueue
    return execution && isQuiet && this.#writer.idle ? execution.queryUpdateHandlers.query(name, args) : undefined
  }
}
