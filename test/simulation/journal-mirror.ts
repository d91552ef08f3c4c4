/**
 * Mirrors the promises of the store: every turn for which it returned "committed" and every message for which it returned
 * "delivered". It stands between the store and the planted faults, reads journals itself, as JSON, and checks each turn
 * against the rules of all journals.
 */
import type { NewMessage, Turn } from "../../src/ports/journal-store.ts"
import type { Store, StoreProvider } from "../../src/ports/store.ts"
import { overriding } from "../../src/engine/method-overrides.ts"
import type { BufferedEvent } from "./event-audit.ts"
import type { Definition, Input } from "./program.ts"
import { RunAudit } from "./run-audit.ts"
import { ScheduleAudit } from "./schedule-audit.ts"
import type { SlotAudit } from "./slot-audit.ts"

const controls = new Set(["pause", "resume", "cancel", "terminate"])
/** Controls that a caller may write itself, by their first entry. */
const writtenControls: Readonly<Record<string, string>> = { paused: "pause", "cancel.requested": "cancel" }
/** Entries that a worker may write for a loaded instance only after it has handled the controls that it found. */
const starts = new Set(["step.started", "sleep.completed", "wait.timedOut"])

export interface MirroredEntry {
  readonly position: number
  readonly run: number
  readonly at: number
  /** The number of the turn among all committed turns. */
  readonly order: number
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
  readonly workflow: string
  readonly incarnation: string
  /** The instance and the step that started this instance. */
  readonly parent: ParentLink | undefined
  /** The input that it was started with. */
  readonly start: Input | undefined
  /** The message that its parent has ended. */
  forsaken: { readonly kind: string; readonly at: number } | undefined
  readonly turns: Turn[] = []
  readonly entries: MirroredEntry[] = []
  readonly runs = new Map<number, RunAudit>()
  status = ""
  /** For each worker: when it claimed the instance, and the controls that were unread then. */
  readonly claims = new Map<string, { readonly at: number; readonly unread: readonly MirroredMessage[] }>()
  #run = new RunAudit(0, { isUndoable: () => false })

  constructor({ incarnation }: Turn, start: RawEntry | undefined) {
    this.incarnation = incarnation
    this.workflow = String(start?.["workflow"])
    this.parent = start?.["parent"] as ParentLink | undefined
    this.start = start?.["value"] as Input | undefined
  }

  get run(): RunAudit {
    return this.#run
  }

  /** The program that the last run executes. */
  get program(): number {
    const input = this.entries.findLast(({ entry }) => entry.type === "run.started")?.entry["value"] as Input | undefined
    return input?.program ?? 0
  }

  begin(run: RunAudit): void {
    this.#run = run
    this.runs.set(run.number, run)
  }

  get isEnded(): boolean {
    return this.run.ended !== undefined
  }
}

interface ParentLink {
  readonly instance: string
  readonly run: number
  readonly step: string
}

export class JournalMirror {
  readonly instances = new Map<string, MirroredInstance>()
  /** Steps with a rollback, each as instance, run and id. */
  readonly undoable = new Set<string>()
  readonly schedules: ScheduleAudit
  readonly #definitions: ReadonlyMap<string, Definition>
  readonly #slots: SlotAudit
  readonly #report: (violation: string) => void
  lostTurns = 0
  #order = 0

  constructor(definitions: ReadonlyMap<string, Definition>, slots: SlotAudit, report: (violation: string) => void) {
    this.#definitions = definitions
    this.#slots = slots
    this.#report = report
    this.schedules = new ScheduleAudit((id) => this.instances.get(id)?.isEnded === false, report)
  }

  run(id: string, run: number): RunAudit | undefined {
    return this.instances.get(id)?.runs.get(run)
  }

  /** Wraps a store, and passes its results to this mirror. */
  watch(inner: StoreProvider): StoreProvider {
    return {
      name: inner.name,
      open: async (context) => this.#watched(await inner.open(context), context.now),
    }
  }

  #watched(store: Store, now: () => number): Store {
    const { journal, directory } = store
    return {
      role: store.role,
      flow: store.flow,
      standBy: () => store.standBy(),
      onHint: (listener) => store.onHint(listener),
      close: () => store.close(),
      schedules: overriding(store.schedules, {
        write: async (change) => {
          const outcome = await store.schedules.write(change)
          if (outcome === "lost") return outcome
          this.schedules.written(change)
          for (const turn of change.creates ?? []) this.#committed(turn)
          for (const message of change.messages ?? []) this.#sent(message, change.row.updatedAt)
          return outcome
        },
      }),
      journal: overriding(journal, {
        claim: async (request) => {
          const claimed = await journal.claim(request)
          for (const { instance } of claimed) this.#claimed(instance.id, request.worker, now())
          return claimed
        },
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

  #claimed(id: string, worker: string, at: number): void {
    const instance = this.instances.get(id)
    instance?.claims.set(worker, { at, unread: instance.run.accepted.filter(({ kind }) => controls.has(kind)) })
  }

  #committed(turn: Turn): void {
    const entries = JSON.parse(turn.entries) as RawEntry[]
    const known = this.instances.get(turn.instance)
    const instance = known ?? new MirroredInstance(turn, entries[0])
    this.instances.set(turn.instance, instance)
    // The turn was sent again after an unknown outcome.
    if (instance.turns.some((known) => known.turn === turn.turn)) return
    const wrong = (what: string) => this.#report(`${turn.instance} at position ${turn.position}, turn ${turn.turn}: ${what}`)
    const last = instance.turns.at(-1)
    const next = last ? last.position + last.count : 1
    if (turn.position !== next) wrong(`the next position is ${next}`)
    if (turn.follows !== last?.turn) wrong(`it follows turn ${turn.follows}, but the journal ends with ${last?.turn}`)
    if (last && last.incarnation !== turn.incarnation) wrong(`another incarnation`)
    if (last && turn.at < last.at) wrong(`its time is before that of the turn before it`)
    if (!known) this.#checkBirth(turn.instance, instance, wrong)
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
    // Whoever pauses or cancels an instance that nobody runs writes that: the turn is what acknowledges it. An owner names itself in its turns.
    const written = first && turn.by === undefined ? writtenControls[first.type] : undefined
    if (written !== undefined) this.#delivered(turn.instance, { kind: written })
    const worker = turn.turn.slice(0, turn.turn.lastIndexOf("."))
    const order = ++this.#order
    const start = entries.findLastIndex(({ type }) => type === "run.started")
    // A run that continues as new gets the events that were not handled. Its own entries come with later turns.
    const left: BufferedEvent[] = []
    const isContinued = entries[start - 1]?.type === "run.continued"
    entries.forEach((entry, index) => {
      if (entry.type === "run.continued") left.push(...instance.run.events.left)
      const mirrored: MirroredEntry = {
        position: turn.position + index,
        run: isContinued && index < start ? turn.run - 1 : turn.run,
        at: turn.at,
        order,
        worker,
        entry,
      }
      instance.entries.push(mirrored)
      const isCopy = isContinued && index > start
      if (isCopy) this.#checkCopy(left.shift(), entry, wrong)
      this.#apply(instance, mirrored, isCopy, wrong)
    })
    for (const event of left) wrong(`event ${event.type} ${event.payload} is lost: nobody took it, and the next run does not have it`)
    if (turn.state) instance.status = turn.state.status
    this.#slots.turn(turn.instance, instance, entries)
    for (const message of turn.sends ?? []) this.#sent(message, turn.at)
  }

  #checkCopy(event: BufferedEvent | undefined, entry: RawEntry, wrong: (what: string) => void): void {
    const isSameEvent = event?.type === entry["event"] && event?.payload === JSON.stringify(entry["value"]) && event?.eventId === entry["eventId"]
    if (!isSameEvent) wrong(`${JSON.stringify(entry)} stands where the next run is to get ${JSON.stringify(event)}`)
  }

  /** A child starts while the run that asked for it has not ended, and after this ask is durable. */
  #checkBirth(id: string, { parent }: MirroredInstance, wrong: (what: string) => void): void {
    if (!parent) return
    const run = this.instances.get(parent.instance)?.run
    if (!run || run.over) return wrong(`its parent ${parent.instance} is over`)
    const asked = run.children.get(parent.step)
    if (asked?.instance !== id || asked.run !== parent.run)
      wrong(`its parent ${parent.instance} has not asked for it in step ${parent.step} of run ${parent.run}`)
  }

  /** A message that is sent with a turn, in its transaction. */
  #sent({ instance: id, incarnation, kind, topic, payload, eventId }: NewMessage, at: number): void {
    const instance = this.instances.get(id)
    if (!instance || instance.isEnded || (incarnation !== undefined && incarnation !== instance.incarnation)) return
    instance.run.accepted.push({ kind, topic, payload, eventId })
    if (kind === "cancel" || kind === "terminate") instance.forsaken ??= { kind, at }
  }

  #apply(instance: MirroredInstance, mirrored: MirroredEntry, isKept: boolean, wrong: (what: string) => void): void {
    const { entry } = mirrored
    if (entry.type === "run.started") this.#begin(instance, mirrored, wrong)
    if (entry.type === "child.ended" && !isKept) this.#checkChildEnd(entry, wrong)
    const { run } = instance
    const claim = starts.has(entry.type) ? instance.claims.get(mirrored.worker) : undefined
    const unread = claim?.unread.find((message) => run.accepted.includes(message))
    // A turn may have been on its way while the worker lost the instance and claimed it again.
    if (claim && unread && claim.at <= mirrored.at)
      wrong(`${entry.type}: a ${unread.kind} was acknowledged before the worker loaded the instance, and is not taken in`)
    if (run.number !== mirrored.run) wrong(`${entry.type} of run ${mirrored.run} is written in run ${run.number}`)
    const problem = run.apply(mirrored, isKept)
    if (problem !== undefined) wrong(`${entry.type}${"id" in entry ? ` of ${String(entry["id"])}` : ""}: ${problem}`)
  }

  #begin(instance: MirroredInstance, { entry }: MirroredEntry, wrong: (what: string) => void): void {
    const before = instance.run
    const number = before.number + 1
    if (entry["run"] !== number) wrong(`run ${String(entry["run"])} follows run ${before.number}`)
    const id = [...this.instances].find(([, known]) => known === instance)?.[0] ?? ""
    const { rollbackPolicy } = this.#definitions.get(instance.workflow) ?? {}
    const run = new RunAudit(number, { ...rollbackPolicy, isUndoable: (step) => this.undoable.has(`${id} ${number} ${step}`) })
    if (before.continued) run.accepted.push(...before.accepted)
    if (before.continued) run.events.continue(before.events)
    const kept = (entry["kept"] ?? []) as readonly { readonly from: number; readonly to: number }[]
    for (const item of instance.entries.filter(({ position }) => kept.some(({ from, to }) => position >= from && position <= to))) {
      const problem = run.apply(item, true)
      if (problem !== undefined) wrong(`it keeps ${item.entry.type} at ${item.position}: ${problem}`)
    }
    instance.begin(run)
  }

  /** The end of a child that its parent records must be durable and true in the child. */
  #checkChildEnd(entry: RawEntry, wrong: (what: string) => void): void {
    const ended = this.instances.get(String(entry["instance"]))?.run.ended?.entry
    const text = (from: RawEntry | undefined) => JSON.stringify([from?.["value"], from?.["rich"], from?.["reason"]])
    if (ended?.type !== `run.${String(entry["status"])}` || text(ended) !== text(entry))
      wrong(`child ${String(entry["instance"])} is said to have ended as ${String(entry["status"])}, but what is durable there is ${JSON.stringify(ended)}`)
  }
}
