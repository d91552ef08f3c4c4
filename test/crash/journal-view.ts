import type { HistoryEntry } from "../../src/index.ts"
import { races } from "./workflows.ts"

/** How an ask was settled, and at which position of the journal. */
export interface Settled {
  readonly position: number
  /** The result that the code gets: a nonce, a payload, "slept", "failed". */
  readonly value: unknown
}

export interface Failure {
  readonly id: string
  readonly attempt: number
  readonly nonce: string
  readonly retryAt: number | undefined
}

/** The journal of an instance, read only from its history. */
export class JournalView {
  readonly problems: string[] = []
  readonly settled = new Map<string, Settled>()
  readonly results = new Map<string, { readonly value: number; readonly nonce: string }>()
  readonly failures: Failure[] = []
  /** Positions of `step.started`, by step and attempt. */
  readonly started = new Map<string, number>()
  readonly sleeps = new Map<string, number>()
  readonly events: { readonly event: string; readonly eventId: string | undefined; readonly value: unknown }[] = []
  ended: { readonly at: number; readonly value: unknown } | undefined
  recoveries = 0

  constructor(history: readonly HistoryEntry[]) {
    const received = new Map<number, unknown>()
    for (const [index, { position, at, type, data }] of history.entries()) {
      const id = data["id"] as string
      if (position !== index + 1) this.problems.push(`position ${position} stands at place ${index + 1}`)
      if (this.ended) this.problems.push(`${type} at ${position} follows the end`)
      switch (type) {
        case "step.started": {
          const key = `${id} ${data["attempt"] as number}`
          if (this.started.has(key)) this.problems.push(`attempt ${key} is recorded twice`)
          if (this.settled.has(id)) this.problems.push(`attempt ${key} is recorded after its step's end`)
          this.started.set(key, position)
          break
        }
        case "step.completed": {
          const result = data["value"] as { value: number; nonce: string }
          this.results.set(id, result)
          this.#settle(id, position, result.nonce)
          break
        }
        case "step.failed": {
          const failure = { id, attempt: data["attempt"] as number, nonce: (data["value"] as Error).message, retryAt: data["retryAt"] as number | undefined }
          this.failures.push(failure)
          if (failure.retryAt === undefined) this.#settle(id, position, "failed")
          break
        }
        case "sleep.started":
          this.sleeps.set(id, data["wakeAt"] as number)
          break
        case "sleep.completed":
          this.#settle(id, position, "slept")
          break
        case "event.received":
          received.set(position, data["value"])
          this.events.push({ event: data["event"] as string, eventId: data["eventId"] as string | undefined, value: data["value"] })
          break
        case "wait.completed":
          this.#settle(id, position, received.get(data["from"] as number))
          received.delete(data["from"] as number)
          break
        case "wait.timedOut":
          this.#settle(id, position, -1)
          break
        case "recovered":
          this.recoveries++
          break
        case "run.completed":
          this.ended = { at, value: data["value"] }
          break
        case "run.started":
          if (position !== 1) this.problems.push(`a run started at ${position}`)
          break
        case "wait.started":
        case "message.ignored":
          break
        default:
          this.problems.push(`${type} at ${position} should not be there: ${JSON.stringify(data)}`)
      }
    }
    if (!this.ended) this.problems.push("it has not completed")
    if (received.size > 0) this.problems.push(`${received.size} events were received and never consumed`)
  }

  /** The result that the code must have seen under a name, and the position from which it could see the result. */
  known(name: string): Settled | undefined {
    const candidates = races[name]
    if (candidates) {
      const first = candidates
        .map((id) => ({ value: id, position: this.settled.get(id)?.position ?? Infinity }))
        .reduce((best, other) => (other.position < best.position ? other : best))
      return first.position === Infinity ? undefined : first
    }
    if (name === "hope") return this.#lost("hopeless", "lost")
    if (name === "settled") return this.#lost("unsound", "fulfilled,rejected")
    return this.settled.get(name)
  }

  hasNested(id: string): boolean {
    return [...this.started.keys(), ...this.sleeps.keys()].some((key) => key.startsWith(`${id}/`))
  }

  #lost(id: string, value: string): Settled | undefined {
    const settled = this.settled.get(id)
    return settled?.value === "failed" ? { position: settled.position, value } : undefined
  }

  #settle(id: string, position: number, value: unknown): void {
    if (this.settled.has(id)) this.problems.push(`${id} is settled twice, again at ${position}`)
    this.settled.set(id, { position, value })
  }
}
