import type { LimitOverride, LimitState, WorkflowLimits } from "../../ports/flow-control.ts"
import type { Logger } from "../../ports/host.ts"
import type { LimitKeyEntry, WorkflowLimitSettings, LimitSettingsTables, LimitSetting } from "../../ports/cloudflare/limit-settings.ts"
import type { LimitKeyListener } from "../../ports/cloudflare/limit-key.ts"
import { setAlarm } from "./alarm-time.ts"
import type { ObjectStorage } from "../platform/platform.ts"

const batchMax = 100
const retryMs = 1_000
const retryMsMax = 60_000
/** Settings that no key uses are kept for this time, because keys come and go. */
const idleMs = 10 * 60_000

/** Reaches the objects of limit keys. */
export interface KeyNetwork {
  limitKey(key: string): LimitKeyListener
}

/** The numbers that were set for the limits of one workflow, in one Durable Object. It sends each change to the keys of the limit until they acknowledge it. */
export class LimitSettingsObject implements WorkflowLimitSettings {
  readonly #tables: LimitSettingsTables
  readonly #declared: (workflow: string) => WorkflowLimits["limits"]
  readonly #storage: ObjectStorage
  readonly #network: KeyNetwork
  readonly #now: () => number
  readonly #log: Logger
  #sending: Promise<void> | undefined
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
    const effective = changes.filter(({ name, to }) => to !== undefined || set.has(name))
    if (effective.length === 0) return "changed"
    this.#tables.set(effective)
    this.#updateAlarm()
    // A run that is active may have read the settings before this change.
    await this.#sending
    await this.#send()
    return "changed"
  }

  async limitsJoin(key: LimitKeyEntry): Promise<LimitSetting> {
    return this.#tables.join(key)
  }

  async limitsLeave(key: Pick<LimitKeyEntry, "key" | "token">): Promise<void> {
    this.#tables.leave(key)
    this.#updateAlarm()
  }

  /** Never throws: the platform gives up an alarm that has failed a few times. */
  async alarm(): Promise<void> {
    try {
      await this.#send()
      if (!this.#tables.isThere() || !this.#tables.isEmpty()) return
      await Promise.all([this.#storage.deleteAll(), this.#storage.deleteAlarm()])
    } catch (error) {
      this.#log.error("the alarm of a limit failed; it is set again", { error })
      await this.#storage.setAlarm(this.#now() + retryMsMax)
    }
  }

  #send(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
      this.#updateAlarm()
    })
    return this.#sending
  }

  async #sendAll(): Promise<void> {
    let hasFailed = false
    // A key that fails is passed over, so it does not delay the keys behind it.
    for (let keys = this.#tables.unnotified(batchMax); keys.length > 0; keys = this.#tables.unnotified(batchMax, keys.at(-1)?.key)) {
      const results = await Promise.allSettled(keys.map((key) => this.#sendTo(key, key.setting)))
      const failed = results.find((result) => result.status === "rejected")
      if (failed === undefined) continue
      hasFailed = true
      this.#log.warn("a limit could not be told; trying again", { error: failed.reason })
    }
    this.#failures = hasFailed ? this.#failures + 1 : 0
  }

  async #sendTo(key: LimitKeyEntry, setting: LimitSetting): Promise<void> {
    const hasJoined = await this.#network.limitKey(key.key).limitsChanged(key.token, setting)
    if (hasJoined) this.#tables.markNotified(key, setting.revision)
    // The key was emptied. It joins again when it is next used.
    else this.#tables.leave(key)
  }

  #updateAlarm(): void {
    const now = this.#now()
    const waitMs = Math.min(retryMs * 2 ** Math.min(this.#failures, 20), retryMsMax)
    if (this.#tables.unnotified(1).length > 0) setAlarm(this.#storage, now + waitMs, now, this.#log)
    else if (this.#tables.isThere() && this.#tables.isEmpty()) setAlarm(this.#storage, now + idleMs, now, this.#log)
    else void this.#storage.deleteAlarm()
  }
}
