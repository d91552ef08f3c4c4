import type { LimitTables, SlotAnswer, SlotAsk, SlotMember } from "../../../../ports/cloudflare/limit-key.ts"
import type { SqlDriver } from "../../../../ports/sql-driver.ts"
import { Admission, slotStateOf } from "../../../shared/slot-admission.ts"
import { migrate, versionOf } from "../../schema/migrate.ts"
import { LimitMembers, type MemberRecord, type NumbersOf } from "./limit-members.ts"
import { limitMigrations } from "./limit-schema.ts"
import { SqliteKeySettings } from "./sqlite-key-settings.ts"

/** A state in which an instance holds no slots. */
const endedState = { status: "completed", run: 1, runPosition: 1 } as const

const limitVersions = "perdure_limit_meta"

/** Whether the database belongs to a limit key. Opening a `SqliteLimitKey` would create its tables. */
export function isLimitKey(driver: SqlDriver): boolean {
  return versionOf(driver, limitVersions).version > 0
}

/** One limit key in a SQLite database of its own. */
export class SqliteLimitKey implements LimitTables {
  readonly settings: SqliteKeySettings
  readonly #driver: SqlDriver
  readonly #members: LimitMembers
  readonly #admission: Admission<MemberRecord>

  constructor(driver: SqlDriver, now: () => number, numbersOf: NumbersOf = () => undefined) {
    migrate(driver, limitMigrations, limitVersions)
    this.#driver = driver
    this.settings = new SqliteKeySettings(driver)
    this.#members = new LimitMembers(driver, now, (use) => this.settings.inForce ?? numbersOf(use))
    this.#admission = new Admission(this.#members)
  }

  async slotAsk(ask: SlotAsk): Promise<SlotAnswer> {
    return this.#transaction(() => {
      const member = this.#members.join(ask)
      if (slotStateOf(member) === "none") this.#admission.tryAdmit(member)
      else if (ask.isCancelling === true) this.#admission.applyState(member, 1, { status: "running", phase: "cancelling", run: 1, runPosition: 1 })
      return this.#answer(ask)
    })
  }

  async slotGive(holder: SlotMember): Promise<void> {
    this.#transaction(() => {
      const member = this.#members.find(holder)
      if (member === undefined) return
      this.#admission.applyState(member, 1, endedState)
      this.#members.leave(member)
    })
  }

  async slotHolder(): Promise<string | undefined> {
    return this.#members.holders()[0]
  }

  settingsChanged(): void {
    const first = this.#members.firstQueued()
    if (first) this.#transaction(() => this.#admission.limitsChanged([first.uses[0]!.key]))
  }

  wake(): void {
    for (let next = this.#members.due(); next !== undefined; next = this.#members.due()) {
      const member = next
      const isAdmitted = this.#transaction(() => {
        const admitted = this.#admission.tryAdmit(member)
        if (admitted) this.#members.onAdmitted(member)
        return admitted
      })
      // The rate has put the member off, or another member goes first, which is due then.
      if (!isAdmitted && this.#members.due()?.key === member.key) return
    }
  }

  unnotified(limit: number): readonly SlotMember[] {
    return this.#members.unnotified(limit)
  }

  /** The member knows of its slot. If the member no longer exists, the key finds this out when it asks silent members. */
  markNotified(holder: SlotMember): void {
    this.#transaction(() => {
      const member = this.#members.find(holder)
      if (member) this.#members.markNotified(member)
    })
  }

  markSeen(holder: SlotMember): void {
    this.#members.markSeen(holder)
  }

  silentMembers(since: number, limit: number): readonly SlotMember[] {
    return this.#members.silentHolders(since, limit)
  }

  isWaitedFor(): boolean {
    return this.#members.firstQueued() !== undefined
  }

  nextDueAt(): number | undefined {
    return this.#members.nextDueAt()
  }

  emptyAt(): number | undefined {
    return this.#members.isEmpty() ? (this.#members.tat() ?? 0) : undefined
  }

  #answer(ask: SlotAsk): SlotAnswer {
    const member = this.#members.find(ask)
    if (member === undefined) throw new Error("a member that has asked is there")
    if (slotStateOf(member) === "taken") return { state: "taken" }
    const { max, perMs } = this.#members.numbers(ask.use)
    return {
      state: "waiting",
      max,
      ...(perMs === undefined ? undefined : { perMs }),
      holders: this.#members.holders(),
      held: this.#members.slotsInUse(),
      ahead: this.#members.ahead(member),
      ...(member.queuedUntil === undefined ? undefined : { until: member.queuedUntil }),
    }
  }

  #transaction<T>(fn: () => T): T {
    try {
      return this.#driver.transaction(fn)
    } catch (error) {
      this.#admission.reset()
      throw error
    }
  }
}
