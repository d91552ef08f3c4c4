import type { LimitUse } from "../../ports/flow-control.ts"
import type { Logger } from "../../ports/host.ts"
import type { LimitKey, LimitTables, SlotAnswer, SlotAsk, SlotMember, LimitKeyListener } from "../../ports/cloudflare/limit-key.ts"
import type { WorkflowLimitSettings, Membership, LimitSetting } from "../../ports/cloudflare/limit-settings.ts"
import { setAlarm } from "./alarm-time.ts"
import type { ObjectStorage } from "../platform/platform.ts"

/** While an instance waits, or was refused, the key asks each holder that was silent for this time whether it still has its slot. */
const quietMs = 30_000
const retryMs = 1_000
const batchMax = 100
/** The storage of an unused key is deleted after this time. Most keys are used again sooner. */
const idleMs = 60_000

/** Reaches the objects of members and the object of the limit's settings. */
export interface MemberNetwork {
  member(id: string): MemberPeer
  limitSettings(workflow: string): Pick<WorkflowLimitSettings, "limitsJoin" | "limitsLeave">
}

interface MemberPeer {
  /** One of the instance's keys may have a slot for it. */
  slotHint(): Promise<void>
  holdsSlot(member: SlotMember, key: string): Promise<boolean>
}

export interface LimitObjectOptions {
  /** The limit key; empty if the platform does not tell the object's name. */
  readonly key: string
  readonly storage: ObjectStorage
  readonly network: MemberNetwork
  readonly now: () => number
  readonly log: Logger
  /** Whether the tables exist. */
  isThere(): boolean
  /** Opens the tables, and creates those that are missing. */
  open(): LimitTables
}

/**
 * One key of a limit in one Durable Object.
 *
 *   empty ──first request──► joined (the settings object knows the key) ──no member for a while──► left ──► empty
 *
 * A unique key has no settings, so it joins nothing. In the state `empty` the object's storage is deleted.
 */
export class LimitObject implements LimitKey, LimitKeyListener {
  readonly #options: LimitObjectOptions
  #opened: LimitTables | undefined
  /** How many requests that may add a member are running. */
  #requestsUnderWay = 0
  #joining: Promise<void> | undefined
  #notifying: Promise<void> | undefined
  #notifyAgainAt: number | undefined
  #checking: Promise<void> | undefined

  constructor(options: LimitObjectOptions) {
    this.#options = options
  }

  /** The tables, if they exist. Undefined: no instance has requested a slot since the object was empty. */
  get #existingTables(): LimitTables | undefined {
    return this.#opened ?? (this.#options.isThere() ? this.#tables : undefined)
  }

  get #tables(): LimitTables {
    if (this.#opened === undefined) {
      this.#opened = this.#options.open()
      // The code may declare other numbers than when the object was last loaded.
      this.#opened.settingsChanged()
    }
    return this.#opened
  }

  async slotAsk(ask: SlotAsk): Promise<SlotAnswer> {
    this.#requestsUnderWay++
    try {
      if (!this.#isJoined(ask.use)) await this.#join(ask.use)
      return await this.#slotAsk(ask)
    } finally {
      this.#requestsUnderWay--
    }
  }

  async #slotAsk(ask: SlotAsk): Promise<SlotAnswer> {
    const answer = await this.#tables.slotAsk(ask)
    this.#afterWrite()
    // A request for a unique key does not stay in the queue, so no alarm would check a dead holder. The check starts here.
    if (answer.state === "waiting") void this.#checkMembers().then(() => this.#afterWrite(), this.#checkFailed)
    return answer
  }

  async slotGive(member: SlotMember): Promise<void> {
    await this.#existingTables?.slotGive(member)
    this.#afterWrite()
  }

  async slotHolder(): Promise<string | undefined> {
    return this.#existingTables?.slotHolder()
  }

  async limitsChanged(token: string, setting: LimitSetting): Promise<boolean> {
    const tables = this.#existingTables
    if (tables?.settings.receive(token, setting) !== true) return false
    tables.settingsChanged()
    this.#afterWrite()
    return true
  }

  /** Whether the key knows its settings. A unique key has no workflow and no settings. */
  #isJoined({ workflow }: LimitUse): boolean {
    return workflow === "" || this.#tables.settings.isJoined
  }

  /** Asks for the settings of the limit before the first slot is granted. From then on the settings object sends changes to this key. */
  #join({ workflow, name, key }: LimitUse): Promise<void> {
    this.#joining ??= this.#joinAs(this.#tables.settings.join({ workflow, name, key })).finally(() => {
      this.#joining = undefined
    })
    return this.#joining
  }

  async #joinAs({ workflow, ...entry }: Membership): Promise<void> {
    const setting = await this.#options.network.limitSettings(workflow).limitsJoin(entry)
    this.#tables.settings.receive(entry.token, setting)
    this.#tables.settingsChanged()
  }

  /** Never throws: the platform gives up an alarm that has failed a few times. */
  async alarm(): Promise<void> {
    try {
      const tables = this.#existingTables
      if (tables === undefined) return
      tables.wake()
      if (tables.isWaitedFor()) await this.#checkMembers()
      this.#notifyAgainAt = undefined
      this.#afterWrite()
      await this.#deleteIfEmpty()
    } catch (error) {
      this.#options.log.error("the alarm of a limit failed; it is set again", { error })
      await this.#options.storage.setAlarm(this.#options.now() + quietMs)
    }
  }

  /** Deletes the storage of a key that has no member, and whose rate has no start to count. */
  async #deleteIfEmpty(): Promise<void> {
    const tables = this.#opened
    if (tables === undefined || !this.#isIdle(tables)) return
    const ended = tables.settings.leave()
    if (ended) await this.#leaveSettings(ended)
    // An instance that requested a slot meanwhile has made the key join again.
    if (this.#opened !== tables || !this.#isIdle(tables)) return
    this.#opened = undefined
    await Promise.all([this.#options.storage.deleteAll(), this.#options.storage.deleteAlarm()])
  }

  #isIdle(tables: LimitTables): boolean {
    const at = tables.emptyAt()
    return at !== undefined && at <= this.#options.now() && this.#requestsUnderWay === 0 && (this.#notifying ?? this.#checking) === undefined
  }

  /** A call that fails does no harm: the settings object drops the key when the key refuses the next change. */
  async #leaveSettings({ workflow, key, token }: Membership): Promise<void> {
    try {
      await this.#options.network.limitSettings(workflow).limitsLeave({ key, token })
    } catch (error) {
      this.#options.log.warn("a limit could not be told; it is when it is next set", { error })
    }
  }

  #afterWrite(): void {
    if (this.#existingTables === undefined) return
    if (this.#notifyAgainAt === undefined && this.#tables.unnotified(1).length > 0) {
      this.#notifying ??= this.#notifyMembers()
        .catch(this.#notifyFailed)
        .finally(() => {
          this.#notifying = undefined
          // Another member may have been admitted meanwhile.
          this.#afterWrite()
        })
    }
    this.#updateAlarm()
  }

  async #notifyMembers(): Promise<void> {
    for (;;) {
      const members = this.#tables.unnotified(batchMax)
      if (members.length === 0) return
      const results = await Promise.allSettled(
        members.map(async (member) => {
          await this.#options.network.member(member.id).slotHint()
          this.#tables.markNotified(member)
        }),
      )
      const failed = results.find((result) => result.status === "rejected")
      if (failed === undefined) continue
      this.#notifyFailed(failed.reason)
      return
    }
  }

  readonly #notifyFailed = (error: unknown): void => {
    this.#notifyAgainAt = this.#options.now() + retryMs
    this.#options.log.warn("an instance could not be told of its slot; trying again", { error })
  }

  readonly #checkFailed = (error: unknown): void => {
    this.#options.log.warn("members of a limit could not be checked; they are checked again later", { error })
  }

  /**
   * Takes slots away from members that no longer have them. A member whose object was emptied, or whose request arrived after its return, would
   * otherwise hold its slot for ever.
   */
  #checkMembers(): Promise<void> {
    // If the platform does not tell the object's name, the key is unknown and members cannot be asked about it.
    if (this.#options.key === "") return Promise.resolve()
    this.#checking ??= this.#checkSilentMembers().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  async #checkSilentMembers(): Promise<void> {
    const since = this.#options.now() - quietMs
    for (const member of this.#tables.silentMembers(since, batchMax)) {
      try {
        const holds = await this.#options.network.member(member.id).holdsSlot(member, this.#options.key)
        if (holds) this.#tables.markSeen(member)
        else if (this.#tables.silentMembers(since, batchMax).some(({ incarnation }) => incarnation === member.incarnation)) await this.#tables.slotGive(member)
      } catch (error) {
        this.#options.log.warn("an instance did not say whether it has its slot still; it is asked again", { error, instance: member.id })
      }
    }
  }

  #updateAlarm(): void {
    const now = this.#options.now()
    const times = [
      this.#tables.nextDueAt(),
      this.#notifyAgainAt,
      this.#notifying === undefined ? undefined : now + retryMs,
      this.#tables.isWaitedFor() ? now + quietMs : undefined,
    ]
    const emptyAt = this.#tables.emptyAt()
    if (emptyAt !== undefined) times.push(Math.max(emptyAt, now + idleMs))
    const at = Math.min(...times.map((time) => time ?? Infinity))
    if (at === Infinity) void this.#options.storage.deleteAlarm()
    else setAlarm(this.#options.storage, Math.max(at, now), now, this.#options.log)
  }
}
