import type { ChangeIterator, Handle, HistoryEntry } from "../../client-api/client-api.ts"
import { InstanceEvents, isEventType, type WorkflowInstanceEvent, type WorkflowInstanceEventType } from "./instance-event.ts"

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

/** How long a reader waits for a change before it looks itself. */
const rereadMs = 1_000
const endings: ReadonlySet<WorkflowInstanceEventType> = new Set(["workflow_completed", "workflow_errored", "workflow_terminated"])

/** Throws what `describe` throws where there is no such instance. */
export async function subscribe(handle: Handle, instanceId: string, options: WorkflowInstanceSubscribeOptions): Promise<WorkflowInstanceSubscription> {
  checkOptions(options)
  const { run } = await handle.describe()
  return new HistorySubscription(handle, new InstanceEvents(instanceId, run), run, options)
}

/** Reads the journal as far as it goes, then waits for a change and reads on. */
class HistorySubscription implements WorkflowInstanceSubscription {
  readonly #handle: Handle
  readonly #events: InstanceEvents
  readonly #kept: KeptEntries
  readonly #after: number
  readonly #filter: ReadonlySet<WorkflowInstanceEventType> | undefined
  #changes: ChangeIterator | undefined
  /** Settles with the next change. */
  #change: Promise<void> | undefined
  #cursor: string | undefined
  #ready: WorkflowInstanceEvent[] = []
  #hasEnded = false
  #isClosed = false
  #reading: Promise<unknown> = Promise.resolve()

  constructor(handle: Handle, events: InstanceEvents, run: number, { cursor = -1, filter }: WorkflowInstanceSubscribeOptions) {
    this.#handle = handle
    this.#events = events
    this.#kept = new KeptEntries(run)
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
      await this.#openChanges()
      const hasMore = await this.#read()
      if (!hasMore && this.#ready.length === 0 && !this.#hasEnded) await this.#untilChange()
    }
    this[Symbol.dispose]()
    return { done: true, value: undefined }
  }

  /** What happens from here on ends a wait for changes. So nothing is missed between a read and the wait after it. */
  async #openChanges(): Promise<void> {
    if (this.#changes) return
    const changes = this.#handle.changes("latest")[Symbol.asyncIterator]()
    this.#changes = changes
    await changes.cursor()
  }

  /** The change stream does not tell that a wait for an event has begun, so the journal is also read again after a while. */
  async #untilChange(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const later = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, rereadMs)
    })
    this.#change ??= this.#changes?.next().then(({ done }) => {
      this.#change = undefined
      if (done === true) this.#isClosed = true
    })
    await Promise.race([later, this.#change]).finally(() => clearTimeout(timer))
  }

  async #read(): Promise<boolean> {
    const { entries, cursor } = await this.#handle.history({ limit: 200, ...(this.#cursor === undefined ? undefined : { cursor: this.#cursor }) })
    this.#cursor = cursor ?? (entries.length === 0 ? this.#cursor : String(entries.at(-1)?.position))
    for (const entry of entries) {
      for (const event of this.#kept.accept(entry).flatMap((part) => this.#events.eventsOf(part))) {
        if (endings.has(event.type)) this.#hasEnded = true
        if (event.eventId > this.#after && this.#filter?.has(event.type) !== false) this.#ready.push(event)
      }
    }
    return cursor !== undefined
  }
}

function checkOptions(options: unknown): asserts options is WorkflowInstanceSubscribeOptions {
  if (typeof options === "object" && options !== null && areOptions(options)) return
  throw new Error("Invalid Workflow subscription options")
}

function areOptions({ cursor, filter, ...others }: Partial<Record<keyof WorkflowInstanceSubscribeOptions, unknown>>): boolean {
  const isCursor = cursor === undefined || (Number.isInteger(cursor) && (cursor as number) >= 0)
  return isCursor && (filter === undefined || (Array.isArray(filter) && filter.every(isEventType))) && Object.keys(others).length === 0
}

/**
 * Finds the entries that the current run of an instance consists of: its own, and those that a restart from a step has kept of earlier runs. The entries
 * come in order, and the current run names what it keeps when it begins.
 */
class KeptEntries {
  readonly #run: number
  #earlier: HistoryEntry[] = []

  constructor(run: number) {
    this.#run = run
  }

  /** The entries that are known to be part of the run, now that this one has come. */
  accept(entry: HistoryEntry): readonly HistoryEntry[] {
    if (entry.run < this.#run) {
      this.#earlier.push(entry)
      return []
    }
    if (entry.type !== "run.started" || entry.run > this.#run) return [entry]
    const kept = this.#keptBy(entry)
    this.#earlier = []
    return [...kept, entry]
  }

  #keptBy({ data }: HistoryEntry): readonly HistoryEntry[] {
    const ranges = (data["kept"] ?? []) as readonly { readonly from: number; readonly to: number }[]
    if (ranges.length === 0) return []
    return this.#earlier.filter(
      ({ position, type }, index) =>
        (index === 0 && type === "run.started") || (type !== "run.started" && ranges.some(({ from, to }) => position >= from && position <= to)),
    )
  }
}
