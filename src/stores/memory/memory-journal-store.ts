import type { ClaimedInstance, ClaimRequest, InboxPart, JournalRow, JournalStore, Message, Offer, Turn, TurnOutcome } from "../../ports/journal-store.ts"
import { isControl } from "../../core/journal/control-message.ts"
import { wantsSlots } from "../shared/slot-admission.ts"
import { inClaimOrder, isOffered, type Claimable } from "../shared/claim-order.ts"
import { turnSequenceKey } from "../shared/turn.ts"
import { claimableAt, type MemoryDatabase, type MemoryInstance } from "./memory-database.ts"

/** Every method calls `enter` first, which throws once the store is closed. `changed` notifies the listeners, also of the provider's other stores. */
export interface MemoryAccess {
  readonly database: MemoryDatabase
  readonly now: () => number
  enter(): void
  changed(): void
}

export class MemoryJournalStore implements JournalStore {
  readonly #access: MemoryAccess
  readonly #database: MemoryDatabase

  constructor(access: MemoryAccess) {
    this.#access = access
    this.#database = access.database
  }

  async claim({ worker, offers, limit, startsMin, leaseMs, ids }: ClaimRequest): Promise<readonly ClaimedInstance[]> {
    this.#access.enter()
    const now = this.#access.now()
    this.#abandonDead(worker, now)
    const claimed: ClaimedInstance[] = []
    // An instance that is admitted meanwhile is found in the next round. An instance that is not claimed is not tried again.
    const seen = new Set<MemoryInstance>()
    for (;;) {
      const found = this.#due(ids, offers, now).filter(({ instance }) => !seen.has(instance))
      if (found.length === 0 || claimed.length >= limit) break
      for (const { instance } of inClaimOrder(found, startsMin)) {
        if (claimed.length >= limit) break
        seen.add(instance)
        if (this.#admit(instance, now)) claimed.push(this.#claim(instance, worker))
      }
    }
    if (claimed.length > 0) this.#database.leases.set(worker, now + leaseMs)
    if (this.#database.flow.admittedIds.length > 0) this.#access.changed()
    return claimed
  }

  #due(ids: readonly string[] | undefined, offers: readonly Offer[], now: number): (Claimable & { instance: MemoryInstance })[] {
    const found = []
    for (const instance of this.#pending(ids)) {
      const at = this.#offeredAt(instance, offers, now)
      if (at === undefined || at > now) continue
      const { workflow, version, flow, status } = instance.row
      const [first] = flow?.limits ?? []
      const fairnessKey = first?.isKeyed ? first.key : undefined
      found.push({ at, key: instance.key, instance, priority: flow?.priority ?? 0, isStart: status === "queued", offer: `${workflow}/${version}`, fairnessKey })
    }
    return found
  }

  /** False: the instance queues for a slot, and must not be claimed yet. */
  #admit(instance: MemoryInstance, now: number): boolean {
    const { flow, row, inbox } = instance
    if (flow === undefined || row.slots === "taken") return true
    const hasEvents = () => inbox.some(({ kind }) => !isControl(kind))
    if (row.slots === "none" && !wantsSlots(row.status, row.dueAt, hasEvents, now)) return true
    return this.#database.flow.admission.tryAdmit(flow) || (claimableAt(instance, now) ?? Infinity) <= now
  }

  #claim(instance: MemoryInstance, worker: string): ClaimedInstance {
    const { crashed } = instance
    instance.crashed = false
    const begins = (instance.row.dueAt ?? Infinity) <= this.#access.now() && (instance.flow === undefined || instance.row.slots === "taken")
    if (begins) this.#database.flow.releaseUniqueKeys(instance, ["debounce"])
    this.#database.replace(instance, { ...instance.row, owner: worker })
    return { instance: instance.row, crashed }
  }

  async owned(worker: string): Promise<readonly string[]> {
    this.#access.enter()
    return Array.from(this.#database.owned.get(worker) ?? [], ({ row }) => row.id)
  }

  async unread(worker: string, limit: number): Promise<readonly string[]> {
    this.#access.enter()
    const ids: string[] = []
    for (const instance of this.#database.owned.get(worker) ?? []) {
      if (ids.length >= limit) break
      if (instance.inbox.length > 0) ids.push(instance.row.id)
    }
    return ids
  }

  async renew(worker: string, leaseMs: number, offers?: readonly Offer[]): Promise<void> {
    this.#access.enter()
    const now = this.#access.now()
    if (leaseMs > 0) {
      this.#database.leases.set(worker, now + leaseMs)
      if (offers) this.#database.offers.set(worker, offers)
    } else {
      this.#database.abandon(worker, now)
      this.#access.changed()
    }
  }

  async release(worker: string, ids: readonly string[]): Promise<void> {
    this.#access.enter()
    const now = this.#access.now()
    for (const id of ids) {
      const instance = this.#database.instances.get(id)
      if (instance?.row.owner === worker) this.#database.release(instance, now, false)
    }
    this.#access.changed()
  }

  async commit(turns: readonly Turn[]): Promise<readonly TurnOutcome[]> {
    this.#access.enter()
    const lost = new Set<string>()
    const outcomes = turns.map((turn) => {
      // The turns after a lost turn build on a state that never was, so they must not be written after the winner's turn.
      const outcome = lost.size > 0 && lost.has(turnSequenceKey(turn)) ? "lost" : this.#database.commit(turn)
      if (outcome === "lost") lost.add(turnSequenceKey(turn))
      return outcome
    })
    this.#access.changed()
    return outcomes
  }

  async readJournal(id: string, from: number): Promise<readonly JournalRow[]> {
    this.#access.enter()
    const rows = this.#database.instances.get(id)?.journal ?? []
    return rows.filter((row) => row.position + row.count - 1 >= from)
  }

  async readInbox(ids: readonly string[], part?: InboxPart): Promise<readonly Message[]> {
    this.#access.enter()
    const messages = ids.flatMap((id, at) => {
      const after = part?.after[at] ?? 0
      return (this.#database.instances.get(id)?.inbox ?? []).filter(({ seq }) => seq > after).slice(0, part?.limit)
    })
    return messages.toSorted((a, b) => a.seq - b.seq)
  }

  async nextDueAt(offers: readonly Offer[]): Promise<number | undefined> {
    this.#access.enter()
    const now = this.#access.now()
    let next: number | undefined
    for (const instance of this.#database.pending) {
      const at = this.#offeredAt(instance, offers, now)
      if (at !== undefined && (next === undefined || at < next)) next = at
    }
    return next
  }

  #pending(ids: readonly string[] | undefined): Iterable<MemoryInstance> {
    if (ids === undefined) return this.#database.pending
    const instances = new Set(ids.map((id) => this.#database.instances.get(id)))
    return [...instances].filter((instance) => instance !== undefined && this.#database.pending.has(instance)) as MemoryInstance[]
  }

  #offeredAt(instance: MemoryInstance, offers: readonly Offer[], now: number): number | undefined {
    if (!offers.some((offer) => isOffered(instance.row, offer))) return undefined
    return claimableAt(instance, now)
  }

  /** The claiming worker is alive, even if its own lease has expired. */
  #abandonDead(claimer: string, now: number): void {
    const { owned, leases } = this.#database
    for (const worker of owned.keys()) {
      if (worker !== claimer && (leases.get(worker) ?? 0) <= now) this.#database.abandon(worker, now)
    }
  }
}
