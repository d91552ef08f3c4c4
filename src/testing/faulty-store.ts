import type { Directory } from "../ports/directory.ts"
import type { FlowControl } from "../ports/flow-control.ts"
import type { JournalStore } from "../ports/journal-store.ts"
import type { ScheduleStore } from "../ports/schedule-store.ts"
import type { Store, StoreProvider } from "../ports/store.ts"
import type { TaskStore } from "../ports/task-store.ts"
import type { Transactions } from "../ports/transactions.ts"

/**
 * A store behind a bad network, used by a process that may die. Every call first asks the fault source for a fault:
 *
 *           before the call        after the call               acknowledged
 *   crash   the store did nothing  the store did it, the        the caller has the answer; the process dies
 *                                  caller gets no answer        after the caller's next microtasks
 *   error   the store did nothing  the store did it, the
 *                                  caller gets an error
 *
 * A call of a dead process never ends. A delayed call still reaches the store if its process dies meanwhile.
 */
export type StoreOperation =
  | keyof JournalStore
  | keyof Directory
  | keyof Transactions
  | `schedules.${keyof ScheduleStore}`
  | `flow.${keyof FlowControl}`
  | `tasks.${keyof TaskStore}`

export type Fault =
  | { readonly kind: "crash"; readonly when: "before" | "after" | "acknowledged" }
  | { readonly kind: "error"; readonly when: "before" | "after" }
  /** The call reaches the store late, or its answer comes late. */
  | { readonly kind: "delay"; readonly when: "before" | "after"; readonly ms: number }
  /** The call is answered as if it had succeeded, but the store does nothing. For calls without a guarantee, such as a renewal. */
  | { readonly kind: "ignored" }

export interface FaultSource {
  next(operation: StoreOperation): Fault | undefined
  isHintLost(): boolean
}

/** The process that uses the store. */
export interface FaultyProcess {
  readonly isDead: boolean
  /** `afterwards`: after the caller's next microtasks have run. */
  die(when: "now" | "afterwards"): void
  /** Lets virtual time pass on the way to the store or back. That time passes even if the process is dead. */
  pass(ms: number): Promise<void>
  /** Resolves when the process is awake: a suspended process receives its answers later. */
  awake(): Promise<void>
}

export class StoreFaultError extends Error {
  override readonly name = "StoreFaultError"
}

export function faultyStore(inner: StoreProvider, faults: FaultSource, process: FaultyProcess): StoreProvider {
  return {
    name: `faulty ${inner.name}`,
    open: async (context) => new FaultyStore(await inner.open(context), faults, process),
  }
}

class FaultyStore implements Store {
  readonly journal: JournalStore
  readonly directory: Directory
  readonly schedules: ScheduleStore
  readonly transactions: Transactions | undefined
  readonly flow: FlowControl
  readonly tasks: TaskStore | undefined
  readonly #inner: Store
  readonly #faults: FaultSource
  readonly #process: FaultyProcess

  constructor(inner: Store, faults: FaultSource, process: FaultyProcess) {
    this.#inner = inner
    this.#faults = faults
    this.#process = process
    this.journal = intercepted(inner.journal, (operation, run) => this.#call(operation, run))
    this.directory = intercepted(inner.directory, (operation, run) => this.#call(operation, run))
    this.schedules = intercepted(inner.schedules, (operation, run) => this.#call(`schedules.${operation}`, run))
    this.transactions = inner.transactions && intercepted(inner.transactions, (operation, run) => this.#call(operation, run))
    this.tasks = inner.tasks && intercepted(inner.tasks, (operation, run) => this.#call(`tasks.${operation}`, run))
    this.flow = intercepted(inner.flow, (operation, run) => this.#call(`flow.${operation}`, run), {
      // The ids of admitted instances are a hint, so they may be lost like any other hint.
      onAdmitted: (listener) =>
        inner.flow.onAdmitted((ids) => {
          if (!process.isDead && !faults.isHintLost()) void process.awake().then(() => listener(ids))
        }),
    })
  }

  get role() {
    return this.#inner.role
  }

  standBy() {
    return this.#inner.standBy()
  }

  onHint(listener: () => void): () => void {
    return this.#inner.onHint(() => {
      if (!this.#process.isDead && !this.#faults.isHintLost()) void this.#process.awake().then(listener)
    })
  }

  close(): Promise<void> {
    return this.#process.isDead ? never() : this.#inner.close()
  }

  async #call<T>(operation: StoreOperation, run: () => Promise<T>): Promise<T> {
    const process = this.#process
    if (process.isDead) return never()
    const fault = this.#faults.next(operation)
    if (fault?.kind === "ignored") return undefined as T
    if (fault !== undefined && "when" in fault && fault.when === "before") {
      if (fault.kind === "delay") await process.pass(fault.ms)
      else if (fault.kind === "error") throw new StoreFaultError(`${operation} failed and did nothing`)
      else {
        process.die("now")
        return never()
      }
    }
    const answer = await run()
    if (fault?.kind === "crash" && fault.when !== "before") process.die(fault.when === "after" ? "now" : "afterwards")
    if (fault?.kind === "delay" && fault.when === "after") await process.pass(fault.ms)
    await process.awake()
    if (process.isDead) return never()
    if (fault?.kind === "error") throw new StoreFaultError(`${operation} succeeded, but its answer was lost`)
    return answer
  }
}

/** A port whose methods all go through `call`, except for the methods in `replaced`. */
function intercepted<T extends object>(port: T, call: (operation: keyof T, run: () => Promise<unknown>) => Promise<unknown>, replaced: Partial<T> = {}): T {
  return new Proxy(port, {
    get: (target, name) => {
      if (Object.hasOwn(replaced, name)) return replaced[name as keyof T]
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== "function") return method
      return (...args: unknown[]) => call(name as keyof T, () => Reflect.apply(method, target, args) as Promise<unknown>)
    },
  })
}

function never<T>(): Promise<T> {
  return new Promise(() => undefined)
}
