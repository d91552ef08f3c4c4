import type { Hint, StoreRole } from "../ports/store.ts"
import { ClaimingWorker } from "./claiming-worker.ts"
import { engineClosed } from "./endings.ts"
import { type CoreKind, EngineCore, makeCore, type MadeCore } from "./engine-core.ts"
import type { EngineSpec } from "./engine-parts.ts"
import { Lookout } from "./lookout.ts"
import { WatchedEndings } from "./watched-endings.ts"

const kind: CoreKind<ClaimingWorker> = {
  worker: (spec) => new ClaimingWorker(spec),
  endings: (store, host, recheck, worker) => new WatchedEndings(store, host, recheck, worker),
}

/** The core of an engine on a store that others use as well: it looks at what they write, and leaves in good order. */
export class ServingCore extends EngineCore<ClaimingWorker> {
  readonly #lookout: Lookout
  #stopHints: () => void = () => undefined

  private constructor(made: MadeCore<ClaimingWorker>) {
    super(made)
    const { worker } = made.parts
    this.#lookout = new Lookout(worker, made.companions)
    worker.onSweep = () => void this.look()
  }

  static async open(spec: EngineSpec): Promise<ServingCore> {
    return new ServingCore(await makeCore(spec, kind))
  }

  override async begin(wanted: StoreRole = "worker"): Promise<void> {
    this.#stopHints = this.parts.store.onHint((hint) => void this.look(hint))
    await super.begin(wanted)
  }

  /** Somebody else may have changed something. */
  async look(hint?: Hint): Promise<void> {
    if (!this.closing) await this.#lookout.look(hint)
  }

  /** Lets running attempts finish, gives everything back in good order, and closes the store. */
  close(): Promise<void> {
    this.closing ??= this.#close()
    return this.closing
  }

  override kill(): void {
    this.#stopHints()
    super.kill()
  }

  async #close(): Promise<void> {
    const { worker, store, starter } = this.parts
    this.#stopHints()
    starter.close()
    try {
      for (const companion of this.companions) await companion.stop?.()
      await worker.stop()
    } finally {
      for (const companion of this.companions) companion.close?.(engineClosed())
      this.stopRejections()
      await store.close()
    }
  }
}
