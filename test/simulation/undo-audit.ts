import type { MirroredEntry } from "./journal-mirror.ts"
import { cancelGraceMs } from "./settings.ts"

const mark = "#rollback"

/** Checks the rollbacks of one run: all completed steps are rolled back once, newest first, if the run fails or is cancelled, and otherwise none. */
export class UndoAudit {
  /** Whether a terminate asks for rollbacks. */
  isDemanded = false
  readonly #isUndoable: (id: string) => boolean
  readonly #completed: string[] = []
  readonly #begun = new Set<string>()
  readonly #done = new Set<string>()
  readonly #failed: string[] = []

  constructor(isUndoable: (id: string) => boolean) {
    this.#isUndoable = isUndoable
  }

  /** How many steps were rolled back. */
  get count(): number {
    return this.#done.size
  }

  start(id: string): string | undefined {
    if (!id.endsWith(mark)) return undefined
    const step = id.slice(0, -mark.length)
    const next = this.#left.at(-1)
    this.#begun.add(step)
    return next === step ? undefined : `the next to be undone is ${next}`
  }

  complete(id: string): string | undefined {
    if (id.endsWith(mark)) this.#done.add(id.slice(0, -mark.length))
    else if (!id.includes("/")) this.#completed.push(id)
    return undefined
  }

  fail(id: string): void {
    if (id.endsWith(mark)) this.#failed.push(id.slice(0, -mark.length))
  }

  end({ entry, at }: MirroredEntry, cancel: MirroredEntry | undefined): string | undefined {
    if (entry.type === "run.completed") return this.#begun.size === 0 ? undefined : `${[...this.#begun].join()} was undone`
    if (entry.type === "run.terminated" && !this.isDemanded) return undefined
    // The end of the cancel's grace interrupts the rollbacks.
    if (cancel && at >= cancel.at + cancelGraceMs) return undefined
    const left = [...this.#left, ...[...this.#begun].filter((step) => !this.#done.has(step) && !this.#failed.includes(step))]
    if (left.length > 0) return `${left.join()} is not undone`
    const said = (entry["notRolledBack"] as readonly string[] | undefined) ?? []
    return said.toSorted().join() === this.#failed.toSorted().join()
      ? undefined
      : `it says that ${said.join()} could not be undone; that was ${this.#failed.join()}`
  }

  get #left(): readonly string[] {
    return this.#completed.filter((id) => this.#isUndoable(id) && !this.#begun.has(id))
  }
}
