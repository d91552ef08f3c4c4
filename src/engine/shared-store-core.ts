import type { PerdureError } from "../core/errors.ts"
import { redacted, shownError } from "../core/values/redaction.ts"
import type { Hint, StoreRole } from "../ports/store.ts"
import { ClaimingWorker } from "./worker/claiming-worker.ts"
import { engineClosed } from "./instances/result-waiters.ts"
import { type CoreKind, EngineCore, createCore, type CreatedCore } from "./engine-core.ts"
import type { EngineSpec } from "./engine-components.ts"
import { fallbackPollOptions } from "./worker/fallback-poll.ts"
import { sharedStoreSettings, type EngineOptions } from "./settings.ts"
import { onStoreClock } from "./store-clock-host.ts"
import { HintDispatcher } from "./worker/hint-dispatcher.ts"
import { PolledResultWaiters } from "./instances/polled-result-waiters.ts"

const kind: CoreKind<ClaimingWorker> = {
  worker: (spec) => new ClaimingWorker(spec),
  host: onStoreClock,
  settings: sharedStoreSettings,
  settingsOnStore: (asked, options, { sweepMs }) => (options.sweep === undefined && sweepMs !== undefined ? { ...asked, sweepMs } : asked),
  resultWaiters: (components) => new PolledResultWaiters(components, fallbackPollOptions(components)),
}

const standByMs = 250

/**
 * The core of an engine on a store that other processes share. It reacts to their hints, stands by to take over if another process is the worker of the
 * store, and releases its instances when it closes.
 */
export class SharedStoreCore extends EngineCore<ClaimingWorker> {
  /** Why the store is gone; undefined: the store is there. */
  storeGone: PerdureError | undefined
  readonly #hintDispatcher: HintDispatcher
  readonly #onStoreGone: ((error: PerdureError) => void) | undefined
  #stopHints: () => void = () => undefined
  #stopRejections: () => void = () => undefined

  private constructor(made: CreatedCore<ClaimingWorker>, { onStoreGone }: EngineOptions) {
    super(made)
    this.#onStoreGone = onStoreGone
    const { worker } = made.components
    this.#hintDispatcher = new HintDispatcher(worker, made.listeners)
    worker.onSweep = () => void this.handleHint()
    worker.onTaken = (id) => void this.handleHint({ work: false, ends: [id], updatesAnswered: true, changed: false })
  }

  static async open(spec: EngineSpec): Promise<SharedStoreCore> {
    return new SharedStoreCore(await createCore(spec, kind), spec.options)
  }

  /** Throws if the engine is closed or closing, or if its store is gone. */
  requireOpen(): void {
    const { refusal } = this
    if (refusal) throw refusal
  }

  /** The error of every call; undefined while the engine takes calls. */
  get refusal(): PerdureError | undefined {
    return this.storeGone ?? (this.closing === undefined ? undefined : engineClosed())
  }

  override async begin(wanted: StoreRole = "worker"): Promise<void> {
    const { store, host, settings, worker } = this.components
    this.#logRejections()
    const stopHints = store.onHint((hint) => void this.handleHint(hint))
    const stopPushed = store.onPushedMessage?.((message) => worker.receivePushed(message))
    const stopGone = store.onGone?.((error) => this.#abort(error))
    this.#stopHints = () => {
      stopHints()
      stopGone?.()
      stopPushed?.()
    }
    if (wanted === "client" || settings.execute === "ticks") return
    if (store.role === "worker") return super.begin()
    host.log.warn("another process executes the workflows of this store; this one is a client and stands by")
    this.#standBy()
  }

  #logRejections(): void {
    const { host, worker } = this.components
    this.#stopRejections = host.onUnhandledRejection((scope, reason) => {
      if (scope.engine !== worker) return
      host.log.error(
        `a promise of instance "${scope.instance}"${scope.step === undefined ? "" : `, step "${scope.step}",`} was rejected and nobody handled it`,
        { instance: scope.instance, error: scope.isSensitive === true ? redacted : shownError(reason) },
      )
    })
  }

  #standBy(): void {
    const { store, host, worker } = this.components
    worker.timers.after(standByMs, () => {
      void (async () => {
        try {
          const role = this.closing ? undefined : await store.standBy()
          // Checked again, because the engine may have been closed while the store answered.
          if (this.closing) return
          if (role !== "worker") return this.#standBy()
          host.log.info("this process executes the workflows of this store now")
          await super.begin()
        } catch (error) {
          if (this.closing) return
          host.log.error("standing by failed; trying again", { error })
          this.#standBy()
        }
      })()
    })
  }

  /** Another process may have changed something; without a hint, anything. */
  async handleHint(hint?: Hint): Promise<void> {
    if (this.refusal === undefined) await this.#hintDispatcher.handleHint(hint)
  }

  /** Lets running attempts finish, releases all instances, and closes the store. */
  close(): Promise<void> {
    this.closing ??= this.#close()
    return this.closing
  }

  override kill(): void {
    this.#stopHints()
    this.#stopRejections()
    super.kill()
  }

  /** The store is gone for good. The engine executes and acknowledges nothing more, and all waiting callers get the reason. */
  #abort(error: PerdureError): void {
    if (this.refusal) return
    this.storeGone = error
    const { host, worker, starter } = this.components
    host.log.error(error.message, { error })
    this.#stopHints()
    for (const listener of this.listeners) void listener.stop?.()
    worker.abort(error)
    starter.close(error)
    for (const listener of this.listeners) listener.close?.(error)
    try {
      this.#onStoreGone?.(error)
    } catch (thrown) {
      host.log.error("onStoreGone threw", { error: thrown })
    }
  }

  async #close(): Promise<void> {
    const { worker, store, starter } = this.components
    if (this.storeGone) {
      this.#stopRejections()
      return store.close()
    }
    this.#stopHints()
    starter.close()
    try {
      for (const listener of this.listeners) await listener.stop?.()
      await worker.stop()
    } finally {
      for (const listener of this.listeners) listener.close?.(engineClosed())
      this.#stopRejections()
      await store.close()
    }
  }
}
