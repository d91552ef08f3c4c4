import type { LimitUse } from "../../ports/flow-control.ts"
import type { Logger } from "../../ports/host.ts"
import type { LimitKey, LimitTables, SlotAnswer, SlotAsk, SlotMember, LimitKeyListener } from "../../ports/cloudflare/limit-key.ts"
import type { WorkflowLimitSettings, Membership, SetNumbers } from "../../ports/cloudflare/limit-settings.ts"
import { setAlarm } from "./alarm-time.ts"
import type { ObjectStorage } from "../platform/platform.ts"

/** Somebody waits, or was refused, and whoever has a slot was not heard of for so long: it is asked whether it has it still. */
const quietMs = 30_000
const retryMs = 1_000
const batchMax = 100
/** A key that nobody uses is emptied after so long: most are used again soon. */
const idleMs = 60_000

/** How members are reached, and who knows what was set for the limit. */
export interface MemberNetwork {
  member(id: string): MemberPeer
  limitSettings(workflow: string): Pick<WorkflowLimitSettings, "limitsJoin" | "limitsLeave">
}

interface MemberPeer {
  /** One of its keys has something for it. */
  slotHint(): Promise<void>
  holdsSlot(member: SlotMember, key: string): Promise<boolean>
}

export interface LimitSpec {
  /** Empty where the platform does not tell it. */
  readonly key: string
  readonly storage: ObjectStorage
  readonly network: MemberNetwork
  readonly now: () => number
  readonly log: Logger
  /** Whether there are tables; to open them makes them. */
  isThere(): boolean
  open(): LimitTables
}

/** One key of a limit in one Durable Object. */
export class LimitObject implements LimitKey, LimitKeyListener {
  readonly #spec: LimitSpec
  #opened: LimitTables | undefined
  /** Calls under way that may give the key a member. */
  #asking = 0
  #joining: Promise<void> | undefined
  #telling: Promise<void> | undefined
  #tellAgainAt: number | undefined
  #checking: Promise<void> | undefined

  constructor(spec: LimitSpec) {
    this.#spec = spec
  }

  /** Undefined: nobody has asked yet, or since it was emptied. */
  get #there(): LimitTables | undefined {
    return this.#opened ?? (this.#spec.isThere() ? this.#tables : undefined)
  }

  get #tables(): LimitTables {
    if (this.#opened === undefined) {
      this.#opened = this.#spec.open()
      // The code may say something else than when it was last here.
      this.#opened.numbersChanged()
    }
    return this.#opened
  }

  async slotAsk(ask: SlotAsk): Promise<SlotAnswer> {
    this.#asking++
    try {
      if (!this.#isJoined(ask.use)) await this.#join(ask.use)
      return await this.#slotAsk(ask)
    } finally {
      this.#asking--
    }
  }

  async #slotAsk(ask: SlotAsk): Promise<SlotAnswer> {
    const answer = await this.#tables.slotAsk(ask)
    this.#afterWrite()
    // One that wants a key to itself does not stay in line: nobody would look for the holder when it is gone.
    if (answer.state === "waiting") void this.#checkMembers().then(() => this.#afterWrite(), this.#checkFailed)
    return answer
  }

  async slotGive(member: SlotMember): Promise<void> {
    await this.#there?.slotGive(member)
    this.#afterWrite()
  }

  async slotHolder(): Promise<string | undefined> {
    return this.#there?.slotHolder()
  }

  async limitsChanged(token: string, news: SetNumbers): Promise<boolean> {
    const tables = this.#there
    if (tables?.set.hear(token, news) !== true) return false
    tables.numbersChanged()
    this.#afterWrite()
    return true
  }

  /** Nothing can be set for a key that one instance has to itself. */
  #isJoined({ workflow }: LimitUse): boolean {
    return workflow === "" || this.#tables.set.isJoined
  }

  /** Before the first slot is given out: what was set is known nowhere else. */
  #join({ workflow, name, key }: LimitUse): Promise<void> {
    this.#joining ??= this.#joinAs(this.#tables.set.join({ workflow, name, key })).finally(() => {
      this.#joining = undefined
    })
    return this.#joining
  }

  async #joinAs({ workflow, ...entry }: Membership): Promise<void> {
    const news = await this.#spec.network.limitSettings(workflow).limitsJoin(entry)
    this.#tables.set.hear(entry.token, news)
    this.#tables.numbersChanged()
  }

  /** Never throws: an alarm that fails a few times is not set again. */
  async alarm(): Promise<void> {
    try {
      const tables = this.#there
      if (tables === undefined) return
      tables.wake()
      if (tables.isWaitedFor()) await this.#checkMembers()
      this.#tellAgainAt = undefined
      this.#afterWrite()
      await this.#leaveIfEmpty()
    } catch (error) {
      this.#spec.log.error("the alarm of a limit failed; it is set again", { error })
      await this.#spec.storage.setAlarm(this.#spec.now() + quietMs)
    }
  }

  /** A key that nobody has or waits for, and whose rate has nothing to remember, takes no room. */
  async #leaveIfEmpty(): Promise<void> {
    const tables = this.#opened
    if (tables === undefined || !this.#isIdle(tables)) return
    const ended = tables.set.leave()
    if (ended) await this.#leaveNumbers(ended)
    // Whoever has asked meanwhile has joined anew.
    if (this.#opened !== tables || !this.#isIdle(tables)) return
    this.#opened = undefined
    await Promise.all([this.#spec.storage.deleteAll(), this.#spec.storage.deleteAlarm()])
  }

  #isIdle(tables: LimitTables): boolean {
    const at = tables.emptyAt()
    return at !== undefined && at <= this.#spec.now() && this.#asking === 0 && (this.#telling ?? this.#checking) === undefined
  }

  /** Should it not be heard, the next one who sets something is told that nobody is there. */
  async #leaveNumbers({ workflow, key, token }: Membership): Promise<void> {
    try {
      await this.#spec.network.limitSettings(workflow).limitsLeave({ key, token })
    } catch (error) {
      this.#spec.log.warn("a limit could not be told; it is when it is next set", { error })
    }
  }

  #afterWrite(): void {
    if (this.#there === undefined) return
    if (this.#tellAgainAt === undefined && this.#tables.untold(1).length > 0) {
      this.#telling ??= this.#tell()
        .catch(this.#tellFailed)
        .finally(() => {
          this.#telling = undefined
          // Somebody may have been let in since the last look.
          this.#afterWrite()
        })
    }
    this.#rearm()
  }

  async #tell(): Promise<void> {
    for (;;) {
      const members = this.#tables.untold(batchMax)
      if (members.length === 0) return
      const told = await Promise.allSettled(
        members.map(async (member) => {
          await this.#spec.network.member(member.id).slotHint()
          this.#tables.told(member)
        }),
      )
      const failed = told.find((result) => result.status === "rejected")
      if (failed === undefined) continue
      this.#tellFailed(failed.reason)
      return
    }
  }

  readonly #tellFailed = (error: unknown): void => {
    this.#tellAgainAt = this.#spec.now() + retryMs
    this.#spec.log.warn("an instance could not be told of its slot; trying again", { error })
  }

  readonly #checkFailed = (error: unknown): void => {
    this.#spec.log.warn("members of a limit could not be looked at; they are at the next occasion", { error })
  }

  /** One whose object was emptied, or that asked once more after it gave back, would hold its slot for ever. */
  #checkMembers(): Promise<void> {
    // Where the platform does not tell the key, nobody can be asked about it.
    if (this.#spec.key === "") return Promise.resolve()
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  async #check(): Promise<void> {
    const since = this.#spec.now() - quietMs
    for (const member of this.#tables.suspects(since, batchMax)) {
      try {
        const holds = await this.#spec.network.member(member.id).holdsSlot(member, this.#spec.key)
        if (holds) this.#tables.seen(member)
        else if (this.#tables.suspects(since, batchMax).some(({ incarnation }) => incarnation === member.incarnation)) await this.#tables.slotGive(member)
      } catch (error) {
        this.#spec.log.warn("an instance did not say whether it has its slot still; it is asked again", { error, instance: member.id })
      }
    }
  }

  #rearm(): void {
    const now = this.#spec.now()
    const times = [
      this.#tables.nextDueAt(),
      this.#tellAgainAt,
      this.#telling === undefined ? undefined : now + retryMs,
      this.#tables.isWaitedFor() ? now + quietMs : undefined,
    ]
    const emptyAt = this.#tables.emptyAt()
    if (emptyAt !== undefined) times.push(Math.max(emptyAt, now + idleMs))
    const at = Math.min(...times.map((time) => time ?? Infinity))
    if (at === Infinity) void this.#spec.storage.deleteAlarm()
    else setAlarm(this.#spec.storage, Math.max(at, now), now, this.#spec.log)
  }
}
