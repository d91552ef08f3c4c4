import type { RollbackPolicy } from "perdure"
import type { MirroredEntry } from "./journal-mirror.ts"
import { cancelGraceMs } from "./settings.ts"

const mark = "#rollback"

/** The rollback policy of a workflow, and the steps that have a rollback. */
export interface UndoRules extends RollbackPolicy {
  readonly isUndoable: (id: string) => boolean
}

/**
 * Checks the rollbacks of one run. If the run fails or is cancelled, each step that the policy names is rolled back once, newest first. The policy names
 * completed steps in the order of their completion, or started steps in the order of their start. If the policy says so, no rollback begins after one has
 * failed. A run that completes rolls back no step.
 */
export class UndoAudit {
  /** Whether a terminate asks for rollbacks. */
  isDemanded = false
  /** Whether a failed rollback has kept others from running. */
  isStopped = false
  readonly #rules: UndoRules
  /** Outermost steps in the order in which they must be rolled back, last step first. */
  readonly #steps: string[] = []
  readonly #completed = new Set<string>()
  readonly #begun = new Set<string>()
  readonly #done = new Set<string>()
  readonly #failed: string[] = []

  constructor(rules: UndoRules) {
    this.#rules = rules
  }

  /** How many steps were rolled back. */
  get count(): number {
    return this.#done.size
  }

  /** How many steps were rolled back that did not complete. */
  get incompleteCount(): number {
    return [...this.#done].filter((id) => !this.#completed.has(id)).length
  }

  /** The first attempt of a step is recorded. */
  start(id: string): string | undefined {
    if (!id.endsWith(mark)) {
      if (this.#rules.of === "started") this.#note(id)
      return undefined
    }
    const step = id.slice(0, -mark.length)
    const next = this.#left.at(-1)
    this.#begun.add(step)
    if (this.#isOver) return `the rollback of ${this.#failed.join()} has failed, and the policy is to stop`
    return next === step ? undefined : `the next to be undone is ${next}`
  }

  complete(id: string): void {
    if (id.endsWith(mark)) return void this.#done.add(id.slice(0, -mark.length))
    this.#completed.add(id)
    if (this.#rules.of !== "started") this.#note(id)
  }

  fail(id: string): void {
    if (id.endsWith(mark)) this.#failed.push(id.slice(0, -mark.length))
  }

  end({ entry, at }: MirroredEntry, cancel: MirroredEntry | undefined): string | undefined {
    if (entry.type === "run.completed") return this.#begun.size === 0 ? undefined : `${[...this.#begun].join()} was undone`
    if (entry.type === "run.terminated" && !this.isDemanded) return undefined
    // The end of the cancel's grace interrupts the rollbacks.
    if (cancel && at >= cancel.at + cancelGraceMs) return undefined
    const open = [...this.#begun].filter((step) => !this.#done.has(step) && !this.#failed.includes(step))
    const left = this.#left.toReversed()
    const missed = this.#isOver ? open : [...left, ...open]
    if (missed.length > 0) return `${missed.join()} is not undone`
    this.isStopped = left.length > 0
    const expected = [...this.#failed, ...left].join()
    const said = ((entry["notRolledBack"] as readonly string[] | undefined) ?? []).join()
    return said === expected ? undefined : `it says that ${said} could not be undone; that was ${expected}`
  }

  /** A rollback has failed for good, and the policy is to begin no other one. */
  get #isOver(): boolean {
    return this.#rules.onFailure === "stop" && this.#failed.length > 0
  }

  get #left(): readonly string[] {
    return this.#steps.filter((id) => this.#rules.isUndoable(id) && !this.#begun.has(id))
  }

  #note(id: string): void {
    if (!id.includes("/")) this.#steps.push(id)
  }
}
