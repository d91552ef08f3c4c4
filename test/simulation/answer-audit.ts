/** The answers of instances to queries and updates. An answer has to be durable and true when the caller gets it. */
import { PerdureError } from "perdure"
import type { JournalMirror, RawEntry } from "./journal-mirror.ts"
import type { Listener, UpdateAnswer } from "./outside.ts"
import type { RunAudit } from "./run-audit.ts"

export class AnswerAudit implements Listener {
  updates = 0
  queries = 0
  readonly #mirror: JournalMirror
  readonly #report: (violation: string) => void

  constructor(mirror: JournalMirror, report: (violation: string) => void) {
    this.#mirror = mirror
    this.#report = report
  }

  onUpdated(id: string, arg: string, answer: UpdateAnswer): void {
    this.updates++
    const entries = this.#mirror.instances.get(id)?.entries.map(({ entry }) => entry) ?? []
    const wrong = (what: string) => this.#report(`${id}: update ${arg} is answered with ${JSON.stringify(answer)}, ${what}`)
    if ("value" in answer) {
      if (answer.value !== `done:${arg}`) return wrong("which is no answer to it")
      if (!entries.some((entry) => entry.type === "update.completed" && entry["value"] === answer.value)) wrong("which is not durable")
    } else if (!isOutside(answer.error) && !entries.some((entry) => isRefusal(entry, arg, entries))) wrong(`which is not durable: ${String(answer.error)}`)
  }

  onQueried(id: string, answer: unknown): void {
    this.queries++
    if (!Array.isArray(answer)) return this.#report(`${id}: a query is answered with ${String(answer)}`)
    const runs = [...(this.#mirror.instances.get(id)?.runs.values() ?? [])]
    if (!runs.some((run) => isCommitted(run, answer as string[])))
      this.#report(`${id}: a query is answered from ${answer.join()}, which is not what is committed`)
  }
}

/** Whether the error comes from the engine, and not from the code of the workflow. */
function isOutside(error: unknown): boolean {
  return PerdureError.is(error, "INSTANCE_ENDED") || PerdureError.is(error, "NOT_STARTED") || PerdureError.is(error, "NOT_FOUND")
}

/** Whether the entry refuses the update. A refusal names the argument; an accepted update is found by its id. */
function isRefusal(entry: RawEntry, arg: string, entries: readonly RawEntry[]): boolean {
  if (entry.type !== "update.failed") return false
  const accepted = entries.find(({ type, value }) => type === "update.accepted" && (value as readonly string[])[0] === arg)
  return accepted ? accepted["update"] === entry["update"] : JSON.stringify(entry).includes(`refused:${arg}`)
}

/** Whether the code has seen a prefix of the released results. Results that a cancel rejects have no order. */
function isCommitted({ released, releasedBeforeCancel }: RunAudit, seen: readonly string[]): boolean {
  const firm = seen.slice(0, releasedBeforeCancel)
  return firm.every((id, index) => released[index] === id)
}
