import type { Logger } from "../../ports/host.ts"
import type { LimitKey, LimitTables, SlotAnswer, SlotAsk, SlotMember } from "../../ports/limit-key.ts"
import { setAlarm } from "./alarm-setting.ts"
import type { ObjectStorage } from "./platform.ts"

/** Somebody waits, or was refused, and whoever has a slot was not heard of for so long: it is asked whether it has it still. */
const quietMs = 30_000
const retryMs = 1_000
const batchMax = 100

/** How members are reached. */
export interface MemberNetwork {
  member(id: string): MemberPeer
}

interface MemberPeer {
  /** One of its keys has something for it. */
  slotHint(): Promise<void>
  holdsSlot(member: SlotMember, key: string): Promise<boolean>
}

/** One key of a limit in one Durable Object. */
export class LimitObject implements LimitKey {
  readonly #key: string
  readonly #tables: LimitTables
  readonly #storage: ObjectStorage
  readonly #network: MemberNetwork
  readonly #now: () => number
  readonly #log: Logger
  #telling: Promise<void> | undefined
  #tellAgainAt: number | undefined
  #checking: Promise<void> | undefined

  constructor(key: string, tables: LimitTables, storage: ObjectStorage, network: MemberNetwork, now: () => number, log: Logger) {
    this.#key = key
    this.#tables = tables
    this.#storage = storage
    this.#network = network
    this.#now = now
    this.#log = log
    // The code may say something else than when it was last here.
    tables.numbersChanged()
  }

  async slotAsk(ask: SlotAsk): Promise<SlotAnswer> {
    const answer = await this.#tables.slotAsk(ask)
    this.#afterWrite()
    // One that wants a key to itself does not stay in line: nobody would look for the holder when it is gone.
    if (answer.state === "waiting") void this.#checkMembers().then(() => this.#afterWrite(), this.#checkFailed)
    return answer
  }

  async slotGive(member: SlotMember): Promise<void> {
    await this.#tables.slotGive(member)
    this.#afterWrite()
  }

  async slotHolder(): Promise<string | undefined> {
    return this.#tables.slotHolder()
  }

  /** Never throws: an alarm that fails a few times is not set again. */
  async alarm(): Promise<void> {
    try {
      this.#tables.wake()
      if (this.#tables.isWaitedFor()) await this.#checkMembers()
      this.#tellAgainAt = undefined
      this.#afterWrite()
    } catch (error) {
      this.#log.error("the alarm of a limit failed; it is set again", { error })
      await this.#storage.setAlarm(this.#now() + quietMs)
    }
  }

  #afterWrite(): void {
    if (this.#tellAgainAt === undefined && this.#tables.untold(1).length > 0) {
      this.#telling ??= this.#tell()
        .catch(this.#tellFailed)
        .finally(() => {
          this.#telling = undefined
          this.#rearm()
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
          await this.#network.member(member.id).slotHint()
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
    this.#tellAgainAt = this.#now() + retryMs
    this.#log.warn("an instance could not be told of its slot; trying again", { error })
  }

  readonly #checkFailed = (error: unknown): void => {
    this.#log.warn("members of a limit could not be looked at; they are at the next occasion", { error })
  }

  /** One whose object was emptied, or that asked once more after it gave back, would hold its slot for ever. */
  #checkMembers(): Promise<void> {
    // Where the platform does not tell the key, nobody can be asked about it.
    if (this.#key === "") return Promise.resolve()
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  async #check(): Promise<void> {
    const since = this.#now() - quietMs
    for (const member of this.#tables.suspects(since, batchMax)) {
      try {
        const holds = await this.#network.member(member.id).holdsSlot(member, this.#key)
        if (holds) this.#tables.seen(member)
        else if (this.#tables.suspects(since, batchMax).some(({ incarnation }) => incarnation === member.incarnation)) await this.#tables.slotGive(member)
      } catch (error) {
        this.#log.warn("an instance did not say whether it has its slot still; it is asked again", { error, instance: member.id })
      }
    }
  }

  #rearm(): void {
    const now = this.#now()
    const times = [
      this.#tables.nextDueAt(),
      this.#tellAgainAt,
      this.#telling === undefined ? undefined : now + retryMs,
      this.#tables.isWaitedFor() ? now + quietMs : undefined,
    ]
    const at = Math.min(...times.map((time) => time ?? Infinity))
    if (at === Infinity) void this.#storage.deleteAlarm()
    else setAlarm(this.#storage, Math.max(at, now), now, this.#log)
  }
}
