import type { Store, StoreProvider } from "../ports/store.ts"
import type { ClientTransactions } from "../ports/transactions.ts"

/** How many calls of the stores of a provider are not answered yet: some stores answer in real time, which virtual time has to wait for. */
export class StoreCalls {
  #open = { count: 0 }
  #waiters: (() => void)[] = []

  get idle(): boolean {
    return this.#open.count === 0
  }

  /** Resolves when all are answered. Whoever waits so leaves the processor to a store that is another process. */
  whenIdle(): Promise<void> {
    return this.idle ? Promise.resolve() : new Promise((resolve) => this.#waiters.push(resolve))
  }

  /** Whoever asked is gone, and waits no longer. */
  forget(): void {
    this.#open = { count: 0 }
    this.#wake()
  }

  watch(provider: StoreProvider): StoreProvider {
    return { ...provider, open: async (context) => this.#watched(await provider.open(context)) }
  }

  #watched(store: Store): Store {
    const ports = new Map<unknown, unknown>()
    const { journal, directory, schedules, flow, transactions, clientTransactions, callerTransactions } = store
    for (const port of [journal, directory, schedules, flow, transactions, callerTransactions]) if (port) ports.set(port, this.#counted(port))
    if (clientTransactions) {
      const begin = async () => this.#counted(await clientTransactions.begin())
      ports.set(clientTransactions, this.#counted<ClientTransactions>({ begin }))
    }
    const counted = this.#counted(store)
    return new Proxy(counted, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        return ports.get(value) ?? value
      },
    })
  }

  /** Methods are called on the port itself: those of classes know their private parts only there. */
  #counted<T extends object>(port: T): T {
    return new Proxy(port, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name)
        return typeof method === "function" ? (...args: unknown[]) => this.#count(Reflect.apply(method, target, args)) : method
      },
    })
  }

  #count(answer: unknown): unknown {
    if (!(answer instanceof Promise)) return answer
    const open = this.#open
    open.count++
    return answer.finally(() => {
      open.count--
      if (this.idle) this.#wake()
    })
  }

  #wake(): void {
    for (const wake of this.#waiters.splice(0)) wake()
  }
}
