import { memory } from "perdure/testing"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import type { Store, StoreContext, StoreProvider } from "../../src/ports/store.ts"
import { overriding } from "../../src/engine/method-overrides.ts"

type Port = "journal" | "directory" | "flow"

/** A writing call, with the time at which the store returned. */
interface Write {
  readonly port: Port
  readonly method: string
  readonly args: readonly unknown[]
  readonly at: number
}

const writes: Readonly<Record<Port, ReadonlySet<string>>> = {
  journal: new Set(["claim", "renew", "release", "commit"]),
  directory: new Set(["deliver", "deliverOrCreate", "remove"]),
  flow: new Set(["declare"]),
}

/**
 * A store with an asynchronous standby. `failOver` promotes the standby, which has replayed all writes but the newest ones: these writes were
 * acknowledged, and are lost. Open stores continue on the standby.
 */
export class ForgetfulStore implements StoreProvider {
  readonly name = "forgetful"
  readonly #written: Write[] = []
  #server = memory()
  /** For each open store, a function that gives it another server. */
  readonly #open: ((server: StoreProvider) => Promise<void>)[] = []

  async open(context: StoreContext): Promise<Store> {
    let store = await this.#server.open(context)
    this.#open.push(async (server) => {
      store = await server.open(context)
    })
    const port = (name: Port) =>
      new Proxy(store[name], {
        get: (_, method) => (typeof method === "string" && method in store[name] ? this.#calling(() => store, name, method, context) : undefined),
      })
    return overriding(store, {
      journal: port("journal") as Store["journal"],
      directory: port("directory") as Store["directory"],
      flow: port("flow") as Store["flow"],
      onHint: () => () => undefined,
    })
  }

  #calling(store: () => Store, port: Port, method: string, context: StoreContext): unknown {
    const member: unknown = Reflect.get(store()[port], method)
    if (typeof member !== "function") return member
    return (...args: unknown[]): unknown => {
      if (writes[port].has(method)) this.#written.push({ port, method, args, at: context.now() })
      const current = store()[port]
      return Reflect.apply(Reflect.get(current, method) as (...given: unknown[]) => unknown, current, args)
    }
  }

  /** The newest committed turns, oldest first, as the number of writes from the end: 1 is the last write. */
  commitsFromEnd(): readonly number[] {
    return this.#written.flatMap(({ method }, at) => (method === "commit" ? [this.#written.length - at] : []))
  }

  /** Forgets this many of the newest writes. */
  async failOver(forgotten: number): Promise<void> {
    this.#written.splice(this.#written.length - forgotten)
    const standby = memory()
    let now = 0
    const replaying = await standby.open({ now: () => now, log: silentLogger, role: "worker" })
    for (const { port, method, args, at } of this.#written) {
      now = at
      const target = replaying[port]
      await (Reflect.apply(Reflect.get(target, method) as (...given: unknown[]) => unknown, target, args) as Promise<unknown>)
    }
    await replaying.close()
    this.#server = standby
    for (const reconnect of this.#open) await reconnect(standby)
  }
}
