import type { Change } from "../../core/journal/change.ts"
import type { Changes } from "../../client-api/client-api.ts"

/** Follows changes and keeps them. */
export class Follower {
  readonly seen: Change[] = []
  readonly iterator: ReturnType<Changes[typeof Symbol.asyncIterator]>
  /** Resolves when the stream ends, with the error of the stream if it failed. */
  readonly over: Promise<unknown>

  constructor(changes: Changes) {
    this.iterator = changes[Symbol.asyncIterator]()
    this.over = this.#follow().then(
      () => undefined,
      (error: unknown) => error,
    )
  }

  /** The changes as `<instance> <type>`, or as `<type>` for a single instance. */
  types(instance?: string): readonly string[] {
    const own = this.seen.filter((change) => instance === undefined || change.instance === instance)
    return own.map((change) => (instance === undefined ? `${change.instance} ${change.type}` : change.type))
  }

  async #follow(): Promise<void> {
    for (;;) {
      const { done, value } = await this.iterator.next()
      if (done) return
      this.seen.push(value)
    }
  }
}
