import type { Store, StoreProvider } from "../ports/store.ts"
import type { ClientTransactions } from "../ports/transactions.ts"

/** Counts the unanswered calls to the stores of a provider. Some stores answer in real time, and virtual time must wait for their answers. */
export class StoreCalls {
  #open = { count: 0 }
  #waiters: (() => void)[] = []

  get idle(): boolean {
    return this.#open.count === 0
  }

  /** Resolves when all calls are answered. Waiting leaves the processor to a store that runs in another process. */
  whenIdle(): Promise<void> {
    return this.idle ? Promise.resolve() : new Promise((resolve) => this.#waiters.push(resolve))
  }

  /** Forgets all unanswered calls: the engine that made them is dead. */
  forget(): void {
    this.#open = { count: 0 }
    this.#wake()
  }

  watch(provider: StoreProvider): StoreProvider {
    return { ...provider, open: async (context) => this.#watched(await provider.open(context)) }
  }

  #watched(store: Store): Store {
    const ports = new Map<unknown, unknown>()
    const { journal, directory, schedules, flow, tasks, transactions, clientTransactions, callerTransactions } = store
    for (const port of [journal, directory, schedules, flow, tasks, transactions, callerTransactions]) if (port) ports.set(port, this.#counted(port))
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

  /** The wrapper calls each method on the port itself, because private fields of a class exist only there. */
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
