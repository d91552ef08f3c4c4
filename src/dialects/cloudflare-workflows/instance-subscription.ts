import type { ChangeIterator, Handle } from "../../client-api/client-api.ts"
import { InstanceEvents, type WorkflowInstanceEvent, type WorkflowInstanceEventType } from "./instance-event.ts"

/** Options of `subscribe`. */
export interface WorkflowInstanceSubscribeOptions {
  /** The `eventId` of the last event that the reader knows. Default: from the beginning. */
  cursor?: number
  /** Only events of these types. Default: all. */
  filter?: WorkflowInstanceEventType[]
}

/** The events of one instance: `next()` waits for one, and `for await` reads all. It ends with the last event of the instance, or when it is disposed of. */
export interface WorkflowInstanceSubscription extends Disposable, AsyncIterable<WorkflowInstanceEvent> {
  /** The next event. `done`: there are no more. */
  next(): Promise<IteratorResult<WorkflowInstanceEvent, void>>
}

const endings: ReadonlySet<WorkflowInstanceEventType> = new Set(["workflow_completed", "workflow_errored", "workflow_terminated"])

/** Throws what `describe` throws where there is no such instance. */
export async function subscribe(handle: Handle, instanceId: string, options: WorkflowInstanceSubscribeOptions): Promise<WorkflowInstanceSubscription> {
  checkOptions(options)
  const { run } = await handle.describe()
  return new HistorySubscription(handle, new InstanceEvents(instanceId), run, options)
}

/** Reads the journal as far as it goes, then waits for a change and reads on. */
class HistorySubscription implements WorkflowInstanceSubscription {
  readonly #handle: Handle
  readonly #events: InstanceEvents
  readonly #run: number
  readonly #after: number
  readonly #filter: ReadonlySet<WorkflowInstanceEventType> | undefined
  #changes: ChangeIterator | undefined
  #cursor: string | undefined
  #ready: WorkflowInstanceEvent[] = []
  #hasEnded = false
  #isClosed = false
  #reading: Promise<unknown> = Promise.resolve()

  constructor(handle: Handle, events: InstanceEvents, run: number, { cursor = -1, filter }: WorkflowInstanceSubscribeOptions) {
    this.#handle = handle
    this.#events = events
    this.#run = run
    this.#after = cursor
    this.#filter = filter && new Set(filter)
  }

  /** Calls are answered in order. */
  next(): Promise<IteratorResult<WorkflowInstanceEvent, void>> {
    const next = this.#reading.then(() => this.#next())
    this.#reading = next.catch(() => undefined)
    return next
  }

  [Symbol.dispose](): void {
    this.#isClosed = true
    void this.#changes?.return()
  }

  async *[Symbol.asyncIterator](): AsyncIterator<WorkflowInstanceEvent, void> {
    try {
      for (let next = await this.next(); next.done !== true; next = await this.next()) yield next.value
    } finally {
      this[Symbol.dispose]()
    }
  }

  async #next(): Promise<IteratorResult<WorkflowInstanceEvent, void>> {
    while (!this.#isClosed) {
      const event = this.#ready.shift()
      if (event) return { done: false, value: event }
      if (this.#hasEnded) break
      // What happens after this was opened wakes the wait below, so that no change is missed between the two.
      this.#changes ??= this.#handle.changes("latest")[Symbol.asyncIterator]()
      const hasMore = await this.#read()
      if (!hasMore && this.#ready.length === 0 && !this.#hasEnded && (await this.#changes.next()).done === true) break
    }
    this[Symbol.dispose]()
    return { done: true, value: undefined }
  }

  async #read(): Promise<boolean> {
    const { entries, cursor } = await this.#handle.history({ limit: 200, ...(this.#cursor === undefined ? undefined : { cursor: this.#cursor }) })
    this.#cursor = cursor ?? (entries.length === 0 ? this.#cursor : String(entries.at(-1)?.position))
    for (const entry of entries) {
      if (entry.run < this.#run) continue
      for (const event of this.#events.eventsOf(entry)) {
        if (endings.has(event.type)) this.#hasEnded = true
        if (event.eventId > this.#after && this.#filter?.has(event.type) !== false) this.#ready.push(event)
      }
    }
    return cursor !== undefined
  }
}

function checkOptions({ cursor, filter }: WorkflowInstanceSubscribeOptions): void {
  const isCursor = cursor === undefined || (Number.isInteger(cursor) && cursor >= 0)
  if (!isCursor || (filter !== undefined && !Array.isArray(filter))) throw new Error("Invalid Workflow subscription options")
}
