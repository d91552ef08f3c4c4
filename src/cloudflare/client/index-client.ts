import type { Change } from "../../core/journal/change.ts"
import type { ChangeIterator, Changes, ListFilter, ListPage } from "../../client-api/client-api.ts"
import { countInstances, listInstances } from "../../engine/instances/instance-list.ts"
import { pageLimit } from "../../engine/instances/instance-summary.ts"
import type { ScheduleFilter, SchedulePage } from "../../client-api/schedule-client.ts"
import { summaryOf } from "../../engine/schedules/schedule-summary.ts"
import type { Directory, Page } from "../../ports/directory.ts"
import type { ScheduleListRequest } from "../../ports/cloudflare/index-shard.ts"
import type { ScheduleRow } from "../../ports/schedule-store.ts"

/** How often whoever has read all there is looks for more. */
const pollMs = 1_000

/** The index over all instances, as the entry makes it of what the objects say their shards are. */
export interface InstanceIndex extends Pick<Directory, "list" | "count"> {
  changes(after: string | undefined): Promise<ReadChanges>
  latestChange(): Promise<string>
  listSchedules(request: ScheduleListRequest): Promise<Page<ScheduleRow>>
}

interface ReadChanges {
  readonly changes: readonly Change[]
  readonly cursor: string
}

/** What a client asks of all instances together. */
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

  #open(): Promise<InstanceIndex> {
    this.#found ??= this.#index().catch((error: unknown) => {
      this.#found = undefined
      throw error
    })
    return this.#found
  }
}

/** Changes that nobody announces: whoever has read all there is looks again after a while. */
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
  #stands: string | undefined
  #page: readonly Change[] = []
  #at = 0
  #isOver = false
  /** With "latest", where that is. */
  #begun: Promise<void> | undefined
  #last: Promise<unknown> = Promise.resolve()
  #stop: () => void = () => undefined

  constructor(cursor: string | undefined, read: (after: string | undefined) => Promise<ReadChanges>) {
    this.#after = cursor
    this.#read = read
    this.#begin()?.catch(() => undefined)
  }

  next(): Promise<IteratorResult<Change, undefined>> {
    const next = this.#last.then(() => this.#advance())
    this.#last = next.catch(() => undefined)
    return next
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#isOver = true
    this.#stop()
    return { done: true, value: undefined }
  }

  async cursor(): Promise<string | undefined> {
    await this.#begin()
    return this.#stands ?? this.#after
  }

  #begin(): Promise<void> | undefined {
    if (this.#after !== "latest") return undefined
    this.#begun ??= this.#read("latest").then(
      ({ cursor }) => {
        this.#after = cursor
      },
      (error: unknown) => {
        this.#begun = undefined
        throw error
      },
    )
    return this.#begun
  }

  async #advance(): Promise<IteratorResult<Change, undefined>> {
    await this.#begin()
    while (!this.#isOver) {
      const change = this.#page[this.#at]
      if (change) {
        this.#at++
        this.#stands = this.#at === this.#page.length ? this.#after : change.cursor
        return { done: false, value: change }
      }
      const { changes, cursor } = await this.#read(this.#after)
      this.#page = changes
      this.#at = 0
      this.#after = cursor
      if (changes.length > 0) continue
      this.#stands = cursor
      await this.#pause()
    }
    return { done: true, value: undefined }
  }

  #pause(): Promise<void> {
    if (this.#isOver) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, pollMs)
      this.#stop = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
