import type { LimitOverride, LimitState, WorkflowLimits } from "../../ports/flow-control.ts"
import type { Logger } from "../../ports/host.ts"
import type { LimitKeyEntry, WorkflowLimitSettings, LimitSettingsTables, SetNumbers } from "../../ports/cloudflare/limit-settings.ts"
import type { LimitKeyListener } from "../../ports/cloudflare/limit-key.ts"
import { setAlarm } from "./alarm-time.ts"
import type { ObjectStorage } from "../platform/platform.ts"

const batchMax = 100
const retryMs = 1_000
const retryMsMax = 60_000
/** What nobody goes by any more is kept for a while: keys come and go. */
const idleMs = 10 * 60_000

/** How keys are reached. */
export interface KeyNetwork {
  limitKey(key: string): LimitKeyListener
}

/** What was set for the limits of one workflow, in one Durable Object. It tells the keys of these limits what changes, until they have heard. */
export class LimitSettingsObject implements WorkflowLimitSettings {
  readonly #tables: LimitSettingsTables
  readonly #declared: (workflow: string) => WorkflowLimits["limits"]
  readonly #storage: ObjectStorage
  readonly #network: KeyNetwork
  readonly #now: () => number
  readonly #log: Logger
  #telling: Promise<void> | undefined
  #failures = 0

  constructor(
    tables: LimitSettingsTables,
    declared: (workflow: string) => WorkflowLimits["limits"],
    storage: ObjectStorage,
    network: KeyNetwork,
    now: () => number,
    log: Logger,
  ) {
    this.#tables = tables
    this.#declared = declared
    this.#storage = storage
    this.#network = network
    this.#now = now
    this.#log = log
  }

  async limitsGet(workflow: string): Promise<readonly LimitState[]> {
    const set = this.#tables.overrides()
    return this.#declared(workflow).map(({ name, ...declared }) => {
      const override = set.get(name)
      return override === undefined ? { name, ...declared } : { name, ...override, declared }
    })
  }

  async limitsSet(workflow: string, changes: readonly LimitOverride[]): Promise<"changed" | "unknown"> {
    const declared = this.#declared(workflow)
    if (changes.some(({ name }) => !declared.some((limit) => limit.name === name))) return "unknown"
    const set = this.#tables.overrides()
    const news = changes.filter(({ name, to }) => to !== undefined || set.has(name))
    if (news.length === 0) return "changed"
    this.#tables.set(news)
    this.#rearm()
    // One that is under way may have read what was before.
    await this.#telling
    await this.#tell()
    return "changed"
  }

  async limitsJoin(key: LimitKeyEntry): Promise<SetNumbers> {
    return this.#tables.join(key)
  }

  async limitsLeave(key: Pick<LimitKeyEntry, "key" | "token">): Promise<void> {
    this.#tables.leave(key)
    this.#rearm()
  }

  /** Never throws: an alarm that fails a few times is not set again. */
  async alarm(): Promise<void> {
    try {
      await this.#tell()
      if (!this.#tables.isThere() || !this.#tables.isEmpty()) return
      await Promise.all([this.#storage.deleteAll(), this.#storage.deleteAlarm()])
    } catch (error) {
      this.#log.error("the alarm of a limit failed; it is set again", { error })
      await this.#storage.setAlarm(this.#now() + retryMsMax)
    }
  }

  #tell(): Promise<void> {
    this.#telling ??= this.#tellAll().finally(() => {
      this.#telling = undefined
      this.#rearm()
    })
    return this.#telling
  }

  async #tellAll(): Promise<void> {
    let hasFailed = false
    // Those that do not answer hold up no others.
    for (let keys = this.#tables.untold(batchMax); keys.length > 0; keys = this.#tables.untold(batchMax, keys.at(-1)?.key)) {
      const told = await Promise.allSettled(keys.map((key) => this.#tellOne(key, key.news)))
      const failed = told.find((result) => result.status === "rejected")
      if (failed === undefined) continue
      hasFailed = true
      this.#log.warn("a limit could not be told; trying again", { error: failed.reason })
    }
    this.#failures = hasFailed ? this.#failures + 1 : 0
  }

  async #tellOne(key: LimitKeyEntry, news: SetNumbers): Promise<void> {
    const isThere = await this.#network.limitKey(key.key).limitsChanged(key.token, news)
    if (isThere) this.#tables.told(key, news.revision)
    // It was emptied, and asks when it is needed again.
    else this.#tables.leave(key)
  }

  #rearm(): void {
    const now = this.#now()
    const waitMs = Math.min(retryMs * 2 ** Math.min(this.#failures, 20), retryMsMax)
    if (this.#tables.untold(1).length > 0) setAlarm(this.#storage, now + waitMs, now, this.#log)
    else if (this.#tables.isThere() && this.#tables.isEmpty()) setAlarm(this.#storage, now + idleMs, now, this.#log)
    else void this.#storage.deleteAlarm()
  }
}
