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

/** One instance with all that belongs to it. `row` is replaced, never changed: callers may keep what they were given. */
export interface MemoryInstance {
  readonly key: number
  row: InstanceRow
  /** Its last owner died; told at the next claim. */
  crashed: boolean
  readonly journal: JournalRow[]
  /** The numbers of its rows among those of all instances. */
  readonly seqs: number[]
  inbox: Message[]
  /** If it has limits. */
  flow: MemoryFlowRecord | undefined
}

/**
 * The data of a memory store, shared by all that open the same provider. Every method is synchronous, so each is atomic.
 * Beside the instances it keeps two small sets, so that a claim need not look at all of them: the instances of each
 * worker, and the unowned ones that wait for a time or have unread messages.
 */
export class MemoryDatabase {
  readonly instances = new Map<string, MemoryInstance>()
  readonly owned = new Map<string, Set<MemoryInstance>>()
  readonly pending = new Set<MemoryInstance>()
  readonly leases = new Map<string, number>()
  /** What workers say that they execute. */
  readonly offers = new Map<string, readonly Offer[]>()
  readonly schedules = new Map<string, MemorySchedule>()
  readonly changes = new MemoryChanges()
  /** The clock of whoever uses it now. */
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
      for (const message of turn.sends ?? []) this.deliver(message)
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
    for (const message of turn.sends ?? []) this.deliver(message)
    return "committed"
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

  /** Puts another row in the place of the instance's, and keeps the two sets right. */
  replace(instance: MemoryInstance, row: InstanceRow): void {
    if (instance.row.owner !== row.owner) this.#removeFromOwned(instance)
    instance.row = row
    this.#updateSets(instance)
  }

  /** Takes the owner away. What was running must go on somewhere: it is due at once. */
  release(instance: MemoryInstance, now: number, crashed: boolean): void {
    const { owner: _, ...row } = instance.row
    instance.crashed = crashed
    const due = row.status === "running" ? { dueAt: Math.min(now, row.dueAt ?? now) } : {}
    this.replace(instance, { ...row, ...due })
    if (instance.flow && (row.status === "sleeping" || row.status === "waiting")) this.flow.admission.releaseSlots(instance.flow)
  }

  /** Limits and a priority for one that has not begun. */
  assign(instance: MemoryInstance, traits: FlowTraits, deadlineAt: number | undefined): void {
    const deadline = deadlineAt === undefined ? undefined : { deadlineAt }
    instance.row = { ...instance.row, flow: { ...instance.row.flow, ...traits }, ...deadline }
    instance.flow = this.flow.recordOf(instance, traits)
    this.#updateSets(instance)
  }

  /** The instances of a worker that is gone count as crashed and as owned by nobody. */
  abandon(worker: string, now: number): void {
    this.leases.delete(worker)
    this.offers.delete(worker)
    for (const instance of this.owned.get(worker) ?? []) this.release(instance, now, true)
  }

  remove(instance: MemoryInstance): void {
    this.#removeFromOwned(instance)
    this.pending.delete(instance)
    this.instances.delete(instance.row.id)
    this.changes.remove(instance)
  }

  #isRunOpen({ instance, incarnation, run }: RunReference): boolean {
    const row = this.instances.get(instance)?.row
    return row?.incarnation === incarnation && row.run === run && !isTerminal(row.status)
  }

  /** False: another instance has a key that only one may have. */
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

  /** Frees the unique keys that this state gives up, and takes again those that a restart needs. False: another instance has one. */
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
    const mayBeDue = flow?.parkedOn === undefined ? dueAt !== undefined || instance.inbox.length > 0 : claimableAt(instance, 0) !== undefined
    if (owner === undefined && mayBeDue) this.pending.add(instance)
    else this.pending.delete(instance)
  }
}

/** When an unowned instance wants to be claimed: at its due time, or since its first unread message that may wake it. */
export function claimableAt({ row, inbox, flow }: MemoryInstance, now: number): number | undefined {
  if (flow?.parkedOn !== undefined && !isTerminal(row.status)) {
    const control = inbox.find(({ kind }) => isControl(kind))
    const at = Math.min(control === undefined ? Infinity : Math.min(control.at, now), row.deadlineAt ?? Infinity, flow.parkedUntil ?? Infinity)
    return at === Infinity ? undefined : at
  }
  const onlyControls = row.status === "paused" || row.status === "stalled"
  const wakes = isTerminal(row.status) ? undefined : inbox.find((message) => !onlyControls || isControl(message.kind))
  if (wakes === undefined) return row.dueAt
  // A message from a sender whose clock is ahead wakes now, not later.
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

/** What stays whatever the instance's state becomes. */
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

/** Databases hold times as integers and refuse others. Memory would take them, and hide the mistake from tests. */
function requireWhole(time: number): void {
  if (!Number.isSafeInteger(time)) throw new Error(`a time is a whole number of milliseconds, not ${time}`)
}
