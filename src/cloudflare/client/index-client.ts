import type { Change } from "../../core/journal/change.ts"
import type { ChangeIterator, Changes, ListFilter, ListPage } from "../../client-api/client-api.ts"
import type { QueueInfo } from "../../client-api/task-control.ts"
import { countInstances, listInstances } from "../../engine/instances/instance-list.ts"
import { pageLimit } from "../../engine/instances/instance-summary.ts"
import type { ScheduleFilter, SchedulePage } from "../../client-api/schedule-client.ts"
import { summaryOf } from "../../engine/schedules/schedule-summary.ts"
import type { Directory, Page } from "../../ports/directory.ts"
import type { ScheduleListRequest } from "../../ports/cloudflare/index-shard.ts"
import type { ScheduleRow } from "../../ports/schedule-store.ts"

/** How often a reader that has read all changes polls for more. */
const pollMs = 1_000

/** The index over all instances. It asks all index shards. */
export interface InstanceIndex extends Pick<Directory, "list" | "count"> {
  changes(after: string | undefined): Promise<ReadChanges>
  latestChange(): Promise<string>
  listSchedules(request: ScheduleListRequest): Promise<Page<ScheduleRow>>
  listQueues(): Promise<readonly QueueInfo[]>
}

interface ReadChanges {
  readonly changes: readonly Change[]
  readonly cursor: string
}

/** The calls of a client that are about all instances together. */
export class IndexClient {
  readonly #index: () => Promise<InstanceIndex>
  #found: Promise<InstanceIndex> | undefined

  constructor(index: () => Promise<InstanceIndex>) {
    this.#index = index
  }

  async list(filter: ListFilter): Promise<ListPage> {
    return listInstances(await this.#open(), filter)
  }

  async count(filter: ListFilter, by: "status" | "workflow"): Promise<Record<string, number>> {
    return countInstances(await this.#open(), filter, by)
  }

  changes(cursor: string | undefined): Changes {
    return new PolledChanges(cursor, async (after) => {
      const index = await this.#open()
      return after === "latest" ? { changes: [], cursor: await index.latestChange() } : index.changes(after)
    })
  }

  async listSchedules({ workflow, cursor, limit }: ScheduleFilter): Promise<SchedulePage> {
    const page = await (
      await this.#open()
    ).listSchedules({
      limit: pageLimit(limit),
      ...(workflow === undefined ? undefined : { workflow }),
      ...(cursor === undefined ? undefined : { after: cursor }),
    })
    return { schedules: page.items.map(summaryOf), ...(page.cursor === undefined ? undefined : { cursor: page.cursor }) }
  }

  async queues(): Promise<readonly QueueInfo[]> {
    return (await this.#open()).listQueues()
  }

  #open(): Promise<InstanceIndex> {
    this.#found ??= this.#index().catch((error: unknown) => {
      this.#found = undefined
      throw error
    })
    return this.#found
  }
}

/** Changes that the client polls for. A reader that has read all changes reads again after a while. */
export class PolledChanges implements Changes {
  readonly #cursor: string | undefined
  readonly #read: (after: string | undefined) => Promise<ReadChanges>

  constructor(cursor: string | undefined, read: (after: string | undefined) => Promise<ReadChanges>) {
    this.#cursor = cursor
    this.#read = read
  }

  [Symbol.asyncIterator](): ChangeIterator {
    return new PolledIterator(this.#cursor, this.#read)
  }
}

class PolledIterator implements ChangeIterator {
  readonly #read: (after: string | undefined) => Promise<ReadChanges>
  #after: string | undefined
  #cursor: string | undefined
  #page: readonly Change[] = []
  #at = 0
  #hasEnded = false
  /** The request for the cursor that "latest" stands for. */
  #resolvingLatest: Promise<void> | undefined
  #last: Promise<unknown> = Promise.resolve()
  #stop: () => void = () => undefined

  constructor(cursor: string | undefined, read: (after: string | undefined) => Promise<ReadChanges>) {
    this.#after = cursor
    this.#read = read
    this.#resolveLatest()?.catch(() => undefined)
  }

  next(): Promise<IteratorResult<Change, undefined>> {
    const next = this.#last.then(() => this.#advance())
    this.#last = next.catch(() => undefined)
    return next
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#hasEnded = true
    this.#stop()
    return { done: true, value: undefined }
  }

  async cursor(): Promise<string | undefined> {
    await this.#resolveLatest()
    return this.#cursor ?? this.#after
  }

  #resolveLatest(): Promise<void> | undefined {
    if (this.#after !== "latest") return undefined
    this.#resolvingLatest ??= this.#read("latest").then(
      ({ cursor }) => {
        this.#after = cursor
      },
      (error: unknown) => {
        this.#resolvingLatest = undefined
        throw error
      },
    )
    return this.#resolvingLatest
  }

  async #advance(): Promise<IteratorResult<Change, undefined>> {
    await this.#resolveLatest()
    while (!this.#hasEnded) {
      const change = this.#page[this.#at]
      if (change) {
        this.#at++
        this.#cursor = this.#at === this.#page.length ? this.#after : change.cursor
        return { done: false, value: change }
      }
      const { changes, cursor } = await this.#read(this.#after)
      this.#page = changes
      this.#at = 0
      this.#after = cursor
      if (changes.length > 0) continue
      this.#cursor = cursor
      await this.#pause()
    }
    return { done: true, value: undefined }
  }

  #pause(): Promise<void> {
    if (this.#hasEnded) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, pollMs)
      this.#stop = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
