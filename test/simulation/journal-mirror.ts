/**
 * What the store has promised: every turn that it answered with "committed" and every message that it answered with
 * "delivered", seen between the store and whatever makes it faulty. It reads journals by itself, as JSON, and checks each turn
 * as it comes against the rules that hold for every journal.
 */
import type { Turn } from "../../src/ports/journal-store.ts"
import type { Store, StoreProvider } from "../../src/ports/store.ts"
import { overriding } from "../../src/testing/overriding.ts"
import { RunAudit } from "./run-audit.ts"

export interface MirroredEntry {
  readonly position: number
  readonly run: number
  readonly at: number
  /** The worker that wrote it. */
  readonly worker: string
  readonly entry: RawEntry
}

export interface RawEntry {
  readonly type: string
  readonly [field: string]: unknown
}

export interface MirroredMessage {
  readonly kind: string
  readonly topic: string | undefined
  readonly payload: string | undefined
  readonly eventId: string | undefined
}

export class MirroredInstance {
  readonly turns: Turn[] = []
  readonly entries: MirroredEntry[] = []
  readonly runs = new Map<number, RunAudit>()
  status = ""

  get run(): RunAudit {
    return [...this.runs.values()].at(-1) ?? new RunAudit(0)
  }

  get isEnded(): boolean {
    return this.run.ended !== undefined
  }
}

export class JournalMirror {
  readonly instances = new Map<string, MirroredInstance>()
  readonly #report: (violation: string) => void
  lostTurns = 0

  constructor(report: (violation: string) => void) {
    this.#report = report
  }

  run(id: string, run: number): RunAudit | undefined {
    return this.instances.get(id)?.runs.get(run)
  }

  /** A store that tells this mirror what it answered. */
  watch(inner: StoreProvider): StoreProvider {
    return {
      name: inner.name,
      open: async (context) => this.#watched(await inner.open(context)),
    }
  }

  #watched(store: Store): Store {
    const { journal, directory } = store
    return {
      role: store.role,
      standBy: () => store.standBy(),
      onHint: (listener) => store.onHint(listener),
      close: () => store.close(),
      schedules: store.schedules,
      journal: overriding(journal, {
        commit: async (turns) => {
          const outcomes = await journal.commit(turns)
          turns.forEach((turn, index) => {
            if (outcomes[index] === "committed") this.#committed(turn)
            else this.lostTurns++
          })
          return outcomes
        },
      }),
      directory: overriding(directory, {
        deliver: async (messages) => {
          const deliveries = await directory.deliver(messages)
          messages.forEach((message, index) => {
            if (deliveries[index] === "delivered") this.#delivered(message.instance, message)
          })
          return deliveries
        },
        deliverOrCreate: async (message, create) => {
          const delivery = await directory.deliverOrCreate(message, create)
          if (delivery === "created") this.#committed(create)
          if (delivery === "created" || delivery === "delivered") this.#delivered(message.instance, message)
          return delivery
        },
      }),
    }
  }

  #delivered(id: string, { kind, topic, payload, eventId }: { kind: string; topic?: string; payload?: string; eventId?: string }): void {
    const instance = this.instances.get(id)
    if (!instance) return this.#report(`a message to ${id} is answered as delivered, but the instance was never committed`)
    instance.run.accepted.push({ kind, topic, payload, eventId })
  }

  #committed(turn: Turn): void {
    const instance = this.instances.get(turn.instance) ?? new MirroredInstance()
    this.instances.set(turn.instance, instance)
    // Sent again after an unknown outcome.
    if (instance.turns.some((known) => known.turn === turn.turn)) return
    const wrong = (what: string) => this.#report(`${turn.instance} at position ${turn.position}, turn ${turn.turn}: ${what}`)
    const last = instance.turns.at(-1)
    const next = last ? last.position + last.count : 1
    if (turn.position !== next) wrong(`the next position is ${next}`)
    if (last && last.incarnation !== turn.incarnation) wrong(`another incarnation`)
    if (last && turn.at < last.at) wrong(`its time is before that of the turn before it`)
    const entries = JSON.parse(turn.entries) as RawEntry[]
    if (entries.length !== turn.count) wrong(`it says ${turn.count} entries and has ${entries.length}`)
    instance.turns.push(turn)
    // An event may come without the inbox: then its turn is what acknowledges it, and is guarded against older messages.
    const [first] = entries
    if (first?.type === "event.received" && turn.inboxSeen !== undefined && turn.consumed === undefined) {
      const payload = "value" in first ? JSON.stringify(first["value"]) : "rich" in first ? `~${JSON.stringify(first["rich"])}` : ""
      this.#delivered(turn.instance, {
        kind: "event",
        topic: String(first["event"]),
        payload,
        ...("eventId" in first ? { eventId: String(first["eventId"]) } : undefined),
      })
    }
    const worker = turn.turn.slice(0, turn.turn.lastIndexOf("."))
    entries.forEach((entry, index) => {
      const mirrored: MirroredEntry = { position: turn.position + index, run: turn.run, at: turn.at, worker, entry }
      instance.entries.push(mirrored)
      this.#apply(instance, mirrored, wrong)
    })
    if (turn.state) instance.status = turn.state.status
  }

  #apply(instance: MirroredInstance, mirrored: MirroredEntry, wrong: (what: string) => void): void {
    const { entry } = mirrored
    if (entry.type === "run.started") {
      const before = instance.run.number
      if (entry["run"] !== before + 1) wrong(`run ${String(entry["run"])} follows run ${before}`)
      instance.runs.set(before + 1, new RunAudit(before + 1))
    }
    const { run } = instance
    if (run.number !== mirrored.run) wrong(`${entry.type} of run ${mirrored.run} is written in run ${run.number}`)
    const problem = run.apply(mirrored)
    if (problem !== undefined) wrong(`${entry.type}${"id" in entry ? ` of ${String(entry["id"])}` : ""}: ${problem}`)
  }
}
