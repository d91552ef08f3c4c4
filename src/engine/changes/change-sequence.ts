import type { Change } from "../../core/journal/change.ts"
import { SerialQueue } from "../../core/collections/serial-queue.ts"
import { afterPlace, type ChangeBatch, type ChangePlace, knownPlace } from "./change-batch.ts"
import type { ChangeFeed, ChangeWaiter } from "./change-feed.ts"
import type { ChangeIterator, Changes } from "../../client-api/client-api.ts"
import { notFound } from "../instances/instance-errors.ts"
import { engineClosed } from "../instances/result-waiters.ts"

/** The changes of all instances, or of one, after a cursor. Each iteration begins at the cursor. */
export class ChangeSequence implements Changes {
  readonly #feed: () => ChangeFeed
  readonly #cursor: string | undefined
  readonly #instance: string | undefined

  constructor(feed: () => ChangeFeed, cursor: string | undefined, instance: string | undefined) {
    this.#feed = feed
    this.#cursor = cursor
    this.#instance = instance
  }

  [Symbol.asyncIterator](): ChangeReader {
    return new ChangeReader(this.#feed(), this.#cursor, this.#instance)
  }
}

/** An iteration that also gives changes in pages. Iterations at the same place get the same array. */
export interface PagedChanges extends ChangeIterator {
  /** The next changes, at least one; undefined at the end of the iteration. */
  nextPage(): Promise<readonly Change[] | undefined>
}

/** One iteration over changes. Between two calls it holds its place and the rest of its page. */
export class ChangeReader implements PagedChanges {
  readonly #feed: ChangeFeed
  readonly #waiter: ChangeWaiter
  #place: Promise<ChangePlace>
  #page: readonly Change[] = []
  #at = 0
  /** The cursor after the page. */
  #end: string | undefined
  #cursor: string | undefined
  #isOver = false
  readonly #calls = new SerialQueue()

  constructor(feed: ChangeFeed, cursor: string | undefined, instance: string | undefined) {
    this.#feed = feed
    this.#waiter = feed.join(instance)
    this.#place = this.#begin(cursor, instance)
    // The first call rejects with the error.
    this.#place.catch(() => undefined)
  }

  next(): Promise<IteratorResult<Change, undefined>> {
    return this.#calls.do(() => this.#advance())
  }

  nextPage(): Promise<readonly Change[] | undefined> {
    return this.#calls.do(() => this.#advancePage())
  }

  /** Ends the iteration, and a call that waits. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#leave()
    return { done: true, value: undefined }
  }

  async cursor(): Promise<string | undefined> {
    await this.#place
    return this.#cursor
  }

  async #begin(cursor: string | undefined, instance: string | undefined): Promise<ChangePlace> {
    if (this.#feed.isClosed) throw this.#feed.gone ?? engineClosed()
    this.#cursor = cursor
    const latest = cursor === "latest" ? this.#feed.latest() : undefined
    latest?.catch(() => undefined)
    if (instance !== undefined && !(await this.#feed.has(instance))) throw notFound(instance)
    if (latest) {
      this.#cursor = await latest
      return { after: this.#cursor }
    }
    if (cursor === undefined) return { after: undefined }
    return knownPlace(cursor)
  }

  async #advance(): Promise<IteratorResult<Change, undefined>> {
    const change = (await this.#hasPage()) ? this.#page[this.#at] : undefined
    if (change === undefined) return { done: true, value: undefined }
    this.#at++
    this.#cursor = this.#at === this.#page.length ? this.#end : change.cursor
    return { done: false, value: change }
  }

  async #advancePage(): Promise<readonly Change[] | undefined> {
    if (!(await this.#hasPage())) return undefined
    const rest = this.#at === 0 ? this.#page : this.#page.slice(this.#at)
    this.#page = []
    this.#cursor = this.#end
    return rest
  }

  /** Reads the next page if this one is used up. Returns false at the end of the iteration. */
  async #hasPage(): Promise<boolean> {
    try {
      while (!this.#isOver) {
        if (this.#at < this.#page.length) return true
        this.#page = []
        const place = await this.#place
        const batch = await this.#feed.next(place.after, this.#waiter)
        if (batch === undefined) break
        this.#turnTo(batch, place)
      }
    } catch (error) {
      this.#leave()
      throw error
    }
    this.#leave()
    return false
  }

  #turnTo({ changes, cursor }: ChangeBatch, place: ChangePlace): void {
    this.#page = afterPlace(changes, place)
    this.#at = 0
    this.#end = cursor
    if (this.#page.length === 0) this.#cursor = cursor
    this.#place = Promise.resolve({ after: cursor })
  }

  #leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#page = []
    this.#feed.leave(this.#waiter)
  }
}
