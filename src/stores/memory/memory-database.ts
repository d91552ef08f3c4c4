import { isControl } from "../../core/journal/control-message.ts"
import { takesEvent } from "../../core/workflow/declared-events.ts"
import { isTerminal } from "../../core/journal/status.ts"
import type { FlowTraits } from "../../ports/flow-control.ts"
import type { InstanceRow, RowState, JournalRow, Message, NewInstance, NewMessage, Offer, RunReference, Turn, TurnOutcome } from "../../ports/journal-store.ts"
import type { Delivery } from "../../ports/directory.ts"
import { MemoryChanges } from "./memory-changes.ts"
import type { MemorySchedule } from "./memory-schedule-store.ts"
import { slotStateOf } from "../shared/slot-admission.ts"
import { MemoryFlow, type MemoryFlowRecord } from "./memory-flow.ts"
import { MemoryTasks } from "./memory-task-store.ts"

/** One instance with its journal and inbox. `row` is replaced and never changed in place, because callers may keep a row that they got. */
export interface MemoryInstance {
  readonly key: number
  row: InstanceRow
  /** Whether the last owner died. The next claim reports it. */
  crashed: boolean
  readonly journal: JournalRow[]
  /** For each row of the journal, its number in the order of all commits. */
  readonly seqs: number[]
  inbox: Message[]
  /** Undefined: the instance has no limits. */
  flow: MemoryFlowRecord | undefined
}

/**
 * The data of a memory store, shared by all stores that one provider opens. Every method is synchronous, so each is atomic.
 * A claim need not search all instances, because the database also keeps two kinds of sets: the instances of each worker, and the unowned
 * instances that have a due time or unread messages.
 */
export class MemoryDatabase {
  readonly instances = new Map<string, MemoryInstance>()
  readonly owned = new Map<string, Set<MemoryInstance>>()
  readonly pending = new Set<MemoryInstance>()
  readonly leases = new Map<string, number>()
  /** What each worker executes. */
  readonly offers = new Map<string, readonly Offer[]>()
  readonly schedules = new Map<string, MemorySchedule>()
  readonly changes = new MemoryChanges()
  readonly tasks = new MemoryTasks()
  /** The clock of the store that makes the present call. */
  now: () => number = () => 0
  readonly flow = new MemoryFlow(
    () => this.now(),
    ({ instance }) => this.#updateSets(instance),
  )
  #keys = 0
  #seq = 0

  commit(turn: Turn): TurnOutcome {
    requireWhole(turn.at)
    if (turn.state?.dueAt !== undefined) requireWhole(turn.state.dueAt)
    const existing = this.instances.get(turn.instance)
    if (turn.create !== undefined) {
      if (existing !== undefined) return isRecorded(existing, turn) ? "committed" : "lost"
      if (turn.within !== undefined && !this.#isRunOpen(turn.within)) return "lost"
      if (!this.#create(turn)) return "lost"
      this.#writeOutgoing(turn)
      return "committed"
    }
    if (existing === undefined || existing.row.incarnation !== turn.incarnation) return "lost"
    const last = existing.journal.at(-1)
    const isNext = last !== undefined && last.position + last.count === turn.position && last.turn === turn.follows
    if (!isNext) return isRecorded(existing, turn) ? "committed" : "lost"
    const { inboxSeen, consumed } = turn
    if (existing.flow && turn.by !== undefined && existing.row.owner !== turn.by) return "lost"
    if (turn.ifQueued === true && (existing.row.status !== "queued" || existing.row.owner !== undefined)) return "lost"
    if (inboxSeen !== undefined && existing.inbox.some((message) => message.seq > inboxSeen)) return "lost"
    if (turn.state !== undefined && !this.#updateUniqueKeys(existing, turn.state)) return "lost"

    existing.journal.push(journalRow(turn))
    this.changes.add(existing)
    if (consumed !== undefined) existing.inbox = withoutMessages(existing.inbox, new Set(consumed))
    if (turn.discardInbox === true) existing.inbox = []
    if (turn.tags !== undefined || turn.memo !== undefined) existing.row = annotated(existing.row, turn)
    if (turn.state !== undefined) {
      const { run } = existing.row
      existing.crashed = false
      this.replace(existing, { ...permanentColumns(existing.row), ...turn.state, updatedAt: turn.at })
      if (existing.flow) this.flow.admission.applyState(existing.flow, run, turn.state)
    } else this.#updateSets(existing)
    this.#writeOutgoing(turn)
    return "committed"
  }

  #writeOutgoing({ instance, sends, tasks, endsTasks, incarnation, at }: Turn): void {
    if (endsTasks) this.tasks.end(endsTasks, instance)
    if (tasks) this.tasks.add(tasks, { instance, incarnation, at })
    for (const message of sends ?? []) this.deliver(message)
  }

  deliver({ incarnation, isChecked, ...message }: NewMessage): Delivery {
    const instance = this.instances.get(message.instance)
    if (instance === undefined || (incarnation !== undefined && incarnation !== instance.row.incarnation)) return "absent"
    if (isTerminal(instance.row.status)) return "ended"
    if (isChecked && !takesEvent(instance.row.events, message.topic ?? "")) return "unknown-event"
    const { eventId } = message
    if (eventId !== undefined && instance.inbox.some((unread) => unread.eventId === eventId)) return "duplicate"
    instance.inbox.push({ ...message, seq: ++this.#seq })
    this.#updateSets(instance)
    return "delivered"
  }

  /** Replaces the row of the instance, and updates the sets. */
  replace(instance: MemoryInstance, row: InstanceRow): void {
    if (instance.row.owner !== row.owner) this.#removeFromOwned(instance)
    instance.row = row
    this.#updateSets(instance)
  }

  /** Removes the owner. An instance that was running must continue in another worker, so it is due at once. */
  release(instance: MemoryInstance, now: number, crashed: boolean): void {
    const { owner: _, ...row } = instance.row
    instance.crashed = crashed
    const due = row.status === "running" ? { dueAt: Math.min(now, row.dueAt ?? now) } : {}
    this.replace(instance, { ...row, ...due })
    if (instance.flow && (row.status === "sleeping" || row.status === "waiting")) this.flow.admission.releaseSlots(instance.flow)
  }

  /** Gives limits and a priority to an instance that has not begun. */
  assign(instance: MemoryInstance, traits: FlowTraits, deadlineAt: number | undefined): void {
    const deadline = deadlineAt === undefined ? undefined : { deadlineAt }
    instance.row = { ...instance.row, flow: { ...instance.row.flow, ...traits }, ...deadline }
    instance.flow = this.flow.recordOf(instance, traits)
    this.#updateSets(instance)
  }

  /** Ends the lease of a dead worker. Its instances have no owner from then on, and count as crashed. */
  abandon(worker: string, now: number): void {
    this.leases.delete(worker)
    this.offers.delete(worker)
    for (const instance of this.owned.get(worker) ?? []) this.release(instance, now, true)
  }

  remove(instance: MemoryInstance): void {
    this.#removeFromOwned(instance)
    this.pending.delete(instance)
    this.instances.delete(instance.row.id)
    this.tasks.end("all", instance.row.id)
    this.changes.remove(instance)
  }

  #isRunOpen({ instance, incarnation, run }: RunReference): boolean {
    const row = this.instances.get(instance)?.row
    return row?.incarnation === incarnation && row.run === run && !isTerminal(row.status)
  }

  /** False: another instance has one of the unique keys. */
  #create(turn: Turn): boolean {
    const { create, state } = turn
    if (create === undefined || state === undefined) throw new Error("a turn that creates an instance says its state")
    const row = annotated({ ...create, tags: [...create.tags], ...state, updatedAt: turn.at }, turn)
    const instance: MemoryInstance = { key: ++this.#keys, row, crashed: false, journal: [journalRow(turn)], seqs: [], inbox: [], flow: undefined }
    if (create.flow?.unique && !this.flow.acquireUniqueKeys(instance, create.flow.unique)) return false
    if (create.flow) instance.flow = this.flow.recordOf(instance, create.flow)
    this.instances.set(row.id, instance)
    this.changes.add(instance)
    this.#updateSets(instance)
    return true
  }

  /** Releases the unique keys that the new state does not need, and acquires the keys that a restart needs. False: another instance has such a key. */
  #updateUniqueKeys(instance: MemoryInstance, { status }: RowState): boolean {
    const { unique } = instance.row.flow ?? {}
    if (unique === undefined) return true
    if (isTerminal(status)) this.flow.releaseUniqueKeys(instance, ["singleton", "debounce"])
    else if (isTerminal(instance.row.status)) {
      return this.flow.acquireUniqueKeys(
        instance,
        unique.filter(({ kind }) => kind === "singleton"),
      )
    } else if (status !== "queued") this.flow.releaseUniqueKeys(instance, ["debounce"])
    return true
  }

  #removeFromOwned(instance: MemoryInstance): void {
    const { owner } = instance.row
    if (owner === undefined) return
    const siblings = this.owned.get(owner)
    siblings?.delete(instance)
    if (siblings?.size === 0) this.owned.delete(owner)
  }

  #updateSets(instance: MemoryInstance): void {
    const { flow } = instance
    if (flow && instance.row.slots !== slotStateOf(flow)) instance.row = { ...instance.row, slots: slotStateOf(flow) }
    const { owner, dueAt } = instance.row
    if (owner !== undefined) {
      const siblings = this.owned.get(owner) ?? new Set()
      this.owned.set(owner, siblings.add(instance))
    }
    const mayBeDue = flow?.queuedFor === undefined ? dueAt !== undefined || instance.inbox.length > 0 : claimableAt(instance, 0) !== undefined
    if (owner === undefined && mayBeDue) this.pending.add(instance)
    else this.pending.delete(instance)
  }
}

/** When an unowned instance must be claimed: at its due time, or since its first unread message that may wake it. */
export function claimableAt({ row, inbox, flow }: MemoryInstance, now: number): number | undefined {
  if (flow?.queuedFor !== undefined && !isTerminal(row.status)) {
    const control = inbox.find(({ kind }) => isControl(kind))
    const at = Math.min(control === undefined ? Infinity : Math.min(control.at, now), row.deadlineAt ?? Infinity, flow.queuedUntil ?? Infinity)
    return at === Infinity ? undefined : at
  }
  const onlyControls = row.status === "paused" || row.status === "stalled"
  const wakes = isTerminal(row.status) ? undefined : inbox.find((message) => !onlyControls || isControl(message.kind))
  if (wakes === undefined) return row.dueAt
  // If the sender's clock is ahead, the message must wake the instance now, not later.
  return Math.min(wakes.at, now, row.dueAt ?? now)
}

function withoutMessages(inbox: readonly Message[], consumed: ReadonlySet<number>): Message[] {
  return inbox.filter(({ seq }) => !consumed.has(seq))
}

function isRecorded(instance: MemoryInstance, turn: Turn): boolean {
  if (instance.row.incarnation !== turn.incarnation) return false
  return instance.journal.some((row) => row.position === turn.position && row.turn === turn.turn)
}

function journalRow({ turn, position, count, run, at, entries, blobs }: Turn): JournalRow {
  const row = { turn, position, count, run, at, entries }
  return blobs === undefined || blobs.length === 0 ? row : { ...row, blobs: [...blobs] }
}

/** The columns that a new state does not change. */
function permanentColumns({
  id,
  incarnation,
  workflow,
  version,
  createdAt,
  tags,
  queue,
  flow,
  events,
  memo,
}: InstanceRow): NewInstance & Pick<InstanceRow, "memo"> {
  const chosen = { ...(queue === undefined ? undefined : { queue }), ...(flow ? { flow } : undefined), ...(memo === undefined ? undefined : { memo }) }
  return { id, incarnation, workflow, version, createdAt, tags, ...chosen, ...(events && { events }) }
}

function annotated(row: InstanceRow, { tags, memo, at }: Turn): InstanceRow {
  return { ...row, ...(tags === undefined ? undefined : { tags: [...tags] }), ...(memo === undefined ? undefined : { memo }), updatedAt: at }
}

/** SQL stores refuse times that are not whole numbers. Memory refuses them as well, so that tests find the mistake. */
function requireWhole(time: number): void {
  if (!Number.isSafeInteger(time)) throw new Error(`a time is a whole number of milliseconds, not ${time}`)
}
