import type { Directory } from "../ports/directory.ts"
import type { FlowControl } from "../ports/flow-control.ts"
import type { JournalStore } from "../ports/journal-store.ts"
import type { ScheduleStore } from "../ports/schedule-store.ts"
import type { Store, StoreProvider } from "../ports/store.ts"
import type { Transactions } from "../ports/transactions.ts"

/**
 * A store as a process sees it over a bad network, in a process that dies. Every call first asks what is to happen to it:
 *
 *   before          after                acknowledged
 *   crash: nothing  crash: done, nobody  crash: done and answered; the process dies once
 *   is done         is told              what follows at once from the answer has happened
 *   error: nothing  error: done, but
 *   is done         the answer is lost
 *
 * A dead process's calls never end. One that was delayed on its way still reaches the store, whatever became of its sender.
 */
export type StoreOperation = keyof JournalStore | keyof Directory | keyof Transactions | `schedules.${keyof ScheduleStore}` | `flow.${keyof FlowControl}`

export type Fault =
  | { readonly kind: "crash"; readonly when: "before" | "after" | "acknowledged" }
  | { readonly kind: "error"; readonly when: "before" | "after" }
  /** The call reaches the store late, or its answer comes late. */
  | { readonly kind: "delay"; readonly when: "before" | "after"; readonly ms: number }
  /** Answered as if done, and not done: for calls that promise nothing, such as a renewal. */
  | { readonly kind: "ignored" }

export interface FaultSource {
  next(operation: StoreOperation): Fault | undefined
  isHintLost(): boolean
}

/** The process that uses the store. */
export interface FaultyProcess {
  readonly isDead: boolean
  /** `afterwards`: once what follows at once has happened. */
  die(when: "now" | "afterwards"): void
  /** Virtual time on the way to the store or back; goes on when the process is dead. */
  pass(ms: number): Promise<void>
  /** Until the process is awake: one that is suspended gets its answers later. */
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
    this.flow = intercepted(inner.flow, (operation, run) => this.#call(`flow.${operation}`, run), {
      // Who was let in is a hint like any other.
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
    if (fault?.kind === "error") throw new StoreFaultError(`${operation} is done, but its answer got lost`)
    return answer
  }
}

/** All methods of a port, each through `call`, but for those replaced. */
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
